pt2bugs: pytorch_154036: is no task; `pt2bugs repair list` shows the 6 that there are
