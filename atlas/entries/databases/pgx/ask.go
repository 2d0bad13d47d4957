// pgx: a connection; an insert is prepared on its first use, as it does by default.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

func main() {
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, "postgres://atlas@"+os.Args[1]+":"+os.Args[2]+"/postgres?sslmode=disable")
	if err == nil {
		_, err = connection.Exec(ctx, "CREATE TEMP TABLE notes (body text)")
	}
	exchanges, _ := strconv.Atoi(os.Args[3])
	for number := 0; err == nil && (exchanges == 0 || number < exchanges); number++ {
		began := time.Now()
		if os.Args[4] == "query" {
			var one int
			err = connection.QueryRow(ctx, "SELECT 1").Scan(&one)
		} else {
			_, err = connection.Exec(ctx, "INSERT INTO notes VALUES ($1)", strings.Repeat("x", 400))
		}
		fmt.Printf("%f %f\n", float64(began.UnixNano())/1e9, time.Since(began).Seconds()*1000)
	}
	if err != nil {
		panic(err)
	}
	fmt.Println("done")
	io.Copy(io.Discard, os.Stdin)
}
