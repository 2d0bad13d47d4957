service Echo {
    string echo(1: string words)
}
