/* planner_command.h - slotmark plan. */
#ifndef SM_PLANNER_COMMAND_H
#define SM_PLANNER_COMMAND_H

int plan_main(int argc, char **argv);

#endif
