/* terminal.h - which of gnuplot's terminals standard output can show. */
#ifndef SM_PLOT_TERMINAL_H
#define SM_PLOT_TERMINAL_H

/* Of sm_gnuplot_terminals (gnuplot.h): pixels where standard output is a terminal known to draw them, blocks where it
 * shows UTF-8, else characters. The size is that of the terminal, 0 where there is none: figures in files are alike. */
const char *sm_terminal_choose(int *columns, int *lines);

#endif
