module inventory

go 1.26
