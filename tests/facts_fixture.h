/* facts_fixture.h - files as the kernel lists facts of a machine in them. */
#ifndef SM_FACTS_FIXTURE_H
#define SM_FACTS_FIXTURE_H

/* Writes folder/file, and makes the folders that are missing on the way. Fails the test where that cannot be. */
void fixture_write_fact(const char *folder, const char *file, const char *text);

#endif
