import java.util.Currency;
import java.util.Locale;
import java.util.Locale.IsoCountryCode;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Makes the benchmark's table: {@code java src/data/MakeCountries.java > src/main/resources/countries.tsv}
 *
 * <p>Countries (ISO 3166-1, with names from CLDR) and their currencies (ISO 4217) are those that the JDK knows; of the
 * former countries (ISO 3166-3) it knows the codes, their names are below.
 */
final class MakeCountries {
    private static final Map<String, String> FORMER = new TreeMap<>(Map.ofEntries(
            Map.entry("AIDJ", "French Afars and Issas"),
            Map.entry("ANHH", "Netherlands Antilles"),
            Map.entry("BQAQ", "British Antarctic Territory"),
            Map.entry("BUMM", "Burma"),
            Map.entry("BYAA", "Byelorussian SSR"),
            Map.entry("CSHH", "Czechoslovakia"),
            Map.entry("CSXX", "Serbia and Montenegro"),
            Map.entry("CTKI", "Canton and Enderbury Islands"),
            Map.entry("DDDE", "German Democratic Republic"),
            Map.entry("DYBJ", "Dahomey"),
            Map.entry("FQHH", "French Southern and Antarctic Territories"),
            Map.entry("FXFR", "Metropolitan France"),
            Map.entry("GEHH", "Gilbert and Ellice Islands"),
            Map.entry("HVBF", "Upper Volta"),
            Map.entry("JTUM", "Johnston Island"),
            Map.entry("MIUM", "Midway Islands"),
            Map.entry("NHVU", "New Hebrides"),
            Map.entry("NQAQ", "Dronning Maud Land"),
            Map.entry("NTHH", "Neutral Zone"),
            Map.entry("PCHH", "Trust Territory of the Pacific Islands"),
            Map.entry("PUUM", "US Miscellaneous Pacific Islands"),
            Map.entry("PZPA", "Panama Canal Zone"),
            Map.entry("RHZW", "Southern Rhodesia"),
            Map.entry("SKIN", "Sikkim"),
            Map.entry("SUHH", "Soviet Union"),
            Map.entry("TPTL", "East Timor"),
            Map.entry("VDVN", "Democratic Republic of Viet-Nam"),
            Map.entry("WKUM", "Wake Island"),
            Map.entry("YDYE", "Democratic Yemen"),
            Map.entry("YUCS", "Yugoslavia"),
            Map.entry("ZRCD", "Zaire")));

    private MakeCountries() {}

    public static void main(String[] args) {
        if (!FORMER.keySet().equals(Locale.getISOCountries(IsoCountryCode.PART3))) {
            throw new IllegalStateException("this JDK knows other former countries: "
                    + Locale.getISOCountries(IsoCountryCode.PART3));
        }
        System.out.println("# ISO 3166 codes, CLDR names and ISO 4217 currencies of Java " + Runtime.version()
                + "; made by src/data/MakeCountries.java");
        Stream.concat(
                        Locale.getISOCountries(IsoCountryCode.PART1_ALPHA2).stream().sorted()
                                .map(code -> code + "\t" + name(code) + "\t" + currency(code)),
                        FORMER.entrySet().stream().map(e -> e.getKey() + "\t" + e.getValue() + "\t"))
                .forEach(System.out::println);
    }

    private static String name(String code) {
        return Locale.of("", code).getDisplayCountry(Locale.ENGLISH);
    }

    private static String currency(String code) {
        Currency currency = Currency.getInstance(Locale.of("", code));
        return currency == null ? "" : currency.getCurrencyCode();
    }
}
