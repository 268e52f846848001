module carillon/executor

go 1.20
