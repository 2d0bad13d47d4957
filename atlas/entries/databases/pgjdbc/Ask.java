import java.sql.DriverManager;

/** PostgreSQL's JDBC driver: a statement, or a prepared one. */
class Ask {
    public static void main(String[] arguments) throws Exception {
        var connection = DriverManager.getConnection("jdbc:postgresql://" + arguments[0] + ":" + arguments[1] + "/postgres?user=atlas");
        var plain = connection.createStatement();
        plain.execute("CREATE TEMP TABLE notes (body text)");
        var insert = connection.prepareStatement("INSERT INTO notes VALUES (?)");
        int exchanges = Integer.parseInt(arguments[2]);
        for (int number = 0; exchanges == 0 || number < exchanges; number++) {
            long began = System.nanoTime();
            double wall = System.currentTimeMillis() / 1000.0;
            if (arguments[3].equals("query")) {
                plain.executeQuery("SELECT 1").close();
            } else {
                insert.setString(1, "x".repeat(400));
                insert.executeUpdate();
            }
            System.out.println(wall + " " + (System.nanoTime() - began) / 1e6);
        }
        System.out.println("done");
        System.in.readAllBytes();
    }
}
