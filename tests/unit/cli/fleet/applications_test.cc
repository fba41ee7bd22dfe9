#include "cli/fleet/applications.h"

#include <gtest/gtest.h>

#include <vector>

#include "cli/fleet/identity.h"
#include "cli/fleet/resource_attributes.h"

namespace swipr::fleet {
namespace {

std::string application_of(const std::vector<std::string>& command_line) {
  return find_application(command_line, "/usr/bin/program").text();
}

TEST(FindApplication, NamesScriptsOfPython) {
  EXPECT_EQ(application_of({"python3.11", "-u", "-W", "ignore", "/srv/shop.py", "-m", "x"}),
            "python: /srv/shop.py");
  EXPECT_EQ(application_of({"/usr/bin/python3", "-m", "shop.worker", "--password", "secret"}),
            "python: -m shop.worker");
  EXPECT_EQ(application_of({"python", "-c", "import secret"}), "python: -c");
  EXPECT_EQ(application_of({"python"}), "python: -");
  EXPECT_EQ(application_of({"pythonic", "x"}), "native: pythonic");
}

TEST(FindApplication, NamesServersOfPython) {
  EXPECT_EQ(application_of({"python3", "/venv/bin/gunicorn", "-b", "0.0.0.0:80", "shop.wsgi:app"}),
            "gunicorn: shop.wsgi:app");
  EXPECT_EQ(application_of({"gunicorn: worker [shop.wsgi:app]"}), "gunicorn: shop.wsgi:app");
  EXPECT_EQ(application_of({"python3", "-m", "uvicorn", "shop:app", "--host", "0.0.0.0"}),
            "uvicorn: shop:app");
  EXPECT_EQ(application_of({"uwsgi", "--http", ":80", "--module=shop.wsgi"}), "uwsgi: shop.wsgi");
  EXPECT_EQ(application_of({"python", "/venv/bin/celery", "-A", "tasks", "worker"}),
            "celery: tasks");
}

TEST(FindApplication, NamesJarsAndClasses) {
  EXPECT_EQ(application_of({"java", "-Xmx1g", "-cp", "a:b", "com.shop.Main", "-jar", "x"}),
            "java: com.shop.Main");
  EXPECT_EQ(application_of({"/jdk/bin/java", "-jar", "/srv/shop.jar"}), "java: /srv/shop.jar");
  EXPECT_EQ(application_of({"java", "-m", "shop/com.shop.Main"}), "java: shop/com.shop.Main");
  EXPECT_EQ(application_of({"java", "-cp", "x", "org.apache.spark.deploy.SparkSubmit", "--class",
                            "com.Job", "job.jar"}),
            "spark: com.Job");
}

TEST(FindApplication, NamesScriptsOfOtherLanguages) {
  EXPECT_EQ(application_of({"node", "--require", "hook.js", "/srv/server.js"}),
            "nodejs: /srv/server.js");
  EXPECT_EQ(application_of({"node", "-e", "secret()"}), "nodejs: -e");
  EXPECT_EQ(application_of({"ruby", "-I", "lib", "shop.rb"}), "ruby: shop.rb");
  EXPECT_EQ(application_of({"puma 5.6.5 (tcp://0.0.0.0:3000) [shop]"}), "puma: shop");
  EXPECT_EQ(application_of({"php-fpm: pool www"}), "php-fpm: www");
  EXPECT_EQ(application_of({"php8.2", "-d", "a=b", "artisan", "queue"}), "php: artisan");
  EXPECT_EQ(application_of({"perl", "-w", "-I", "lib", "shop.pl"}), "perl: shop.pl");
  EXPECT_EQ(application_of({"perl5.36", "-e", "secret()"}), "perl: -e");
  EXPECT_EQ(application_of({"/usr/lib/R/bin/exec/R", "--no-echo", "--no-restore", "--file=fit.R",
                            "--args", "--file=other"}),
            "r: fit.R");
  EXPECT_EQ(application_of({"/usr/lib/R/bin/exec/R", "--no-echo", "-e", "secret()"}), "r: -e");
  EXPECT_EQ(application_of({"/usr/lib/R/bin/exec/R"}), "r: -");
  EXPECT_EQ(application_of({"lua5.4", "-l", "json", "shop.lua", "-e"}), "lua: shop.lua");
  EXPECT_EQ(application_of({"lua", "-e", "secret()"}), "lua: -e");
}

TEST(FindApplication, IsNativeOtherwise) {
  EXPECT_EQ(application_of({"./a.out", "secret"}), "native: ./a.out");
  EXPECT_EQ(application_of({}), "native: /usr/bin/program");
}

Identity identity_of(const std::vector<std::string>& command_line, std::string_view cgroup,
                     const std::string& own, std::string_view chosen) {
  ProcessFacts facts;
  facts.command_name = "program";
  facts.executable = "/usr/bin/program";
  facts.command_line = command_line;
  facts.cgroup = cgroup;
  facts.service = own;
  facts.labels = "team=pay,region=eu,broken,=x";
  return identify(facts, chosen);
}

TEST(Identify, PrefersWhatIsMoreSpecific) {
  const std::vector<std::string> script = {"python3", "/srv/shop.py"};
  constexpr std::string_view kUnit = "0::/system.slice/cart.service\n";
  EXPECT_EQ(identity_of(script, kUnit, "own", "chosen").service, "chosen");
  EXPECT_EQ(identity_of(script, kUnit, "own", "").service, "own");
  EXPECT_EQ(identity_of(script, kUnit, "", "").service, "cart");
  EXPECT_EQ(identity_of(script, "0::/\n", "", "").service, "shop");
  EXPECT_EQ(identity_of({"python3", "-c", "x"}, "", "", "").service, "program");
  EXPECT_EQ(identity_of({"./a.out"}, "", "", "").service, "program");
  EXPECT_EQ(identity_of({"python3", "/srv/shop/"}, "", "", "").service, "shop");
  EXPECT_EQ(identity_of({"python3", "/"}, "", "", "").service, "program");
}

TEST(MatchingOptions, AreThoseOfTheMachine) {
  const std::vector<std::string> line = {"java", "-Xmx1g", "-Dteam=pay",  "-Dpassword=x",
                                         "-jar", "a.jar",  "-Dteam=other"};
  EXPECT_EQ(matching_options(line, std::vector<std::string>{"^-Dteam=", "^-Xmx"}),
            "-Xmx1g -Dteam=pay");
  EXPECT_EQ(matching_options(line, std::vector<std::string>{"("}), "");
  EXPECT_FALSE(is_valid_pattern("("));
  EXPECT_TRUE(is_valid_pattern("^-D(team|stage)="));
}

TEST(Identify, AddsOptionsOfJavaThatAreAskedFor) {
  const std::vector<std::string> line = {"java", "-Dteam=pay", "-jar", "shop.jar"};
  const std::vector<std::string> filters = {"team"};
  ProcessFacts facts;
  facts.command_line = line;
  facts.argument_filters = filters;
  EXPECT_EQ(identify(facts, "").application, "java: shop.jar (-Dteam=pay)");
  EXPECT_EQ(identify(facts, "").service, "shop");
}

TEST(FindAttribute, ReadsWhatOpenTelemetryWrites) {
  constexpr std::string_view kText = "a=1, service.name = shop%20eu ,k8s.pod.name=p%2,broken,b=";
  EXPECT_EQ(find_attribute(kText, "a"), "1");
  EXPECT_EQ(find_attribute(kText, "service.name"), "shop eu");
  EXPECT_EQ(find_attribute(kText, "k8s.pod.name"), "p%2");
  EXPECT_EQ(find_attribute(kText, "broken"), "");
  EXPECT_EQ(find_attribute(kText, "b"), "");
}

TEST(Identify, TakesLabelsOfTheProcess) {
  using Labels = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(identity_of({"./a.out"}, "", "", "").labels,
            (Labels{{"team", "pay"}, {"region", "eu"}, {"comm", "program"}}));
}

}  // namespace
}  // namespace swipr::fleet
