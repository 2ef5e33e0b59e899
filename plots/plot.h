/* plot.h - `slotmark plot`: result files in, figures out. Reads result files only and runs nothing but gnuplot.
 *
 * Writes NAME.svg, NAME.png, NAME.tsv (the table the figure was drawn from) and index.html into a figures folder.
 * A folder that is not ours (page.h) is written to only where no file of these names is there already. */
#ifndef SM_PLOT_H
#define SM_PLOT_H

/* 0: drawn; 1: gnuplot failed; 2: bad arguments, or nothing usable in the results. */
int plot_main(int argc, char **argv);

#endif
