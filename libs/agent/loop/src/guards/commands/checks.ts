import { type CommandWords, hasOption, operands } from './command-words.ts';
import { stemOf } from './file-kind.ts';

/** `tests`: one must run; `check`: a build, linter or type check; `run`: the program itself; `look` at and `read` files. */
export type CheckKind = 'tests' | 'check' | 'run' | 'look' | 'read';

type Judge = (args: readonly string[]) => CheckKind | undefined;
type Rule = CheckKind | Judge;

const words = (text: string): string[] => text.split(' ');
const rules = (rule: Rule, programs: string): [string, Rule][] =>
  words(programs).map((program) => [program, rule]);

/** Decides by the first operand. */
const verbs =
  (kinds: Readonly<Partial<Record<CheckKind, string>>>): Judge =>
  (args) => {
    const [verb = ''] = operands(args);
    const found = Object.entries(kinds).find(([, list]) => words(list).includes(verb));
    return found === undefined ? undefined : KINDS.find((kind) => kind === found[0]);
  };
const KINDS: readonly CheckKind[] = ['tests', 'check', 'run', 'look'];

/** Without one of these options, the command changes files or only prints. */
const only =
  (kind: CheckKind, ...options: string[]): Judge =>
  (args) =>
    hasOption(args, ...options) ? kind : undefined;

/** Guesses the kind from the name of a script, target or task. */
function named(name: string): CheckKind | undefined {
  if (/(?:^|[^a-z])(?:clean|install|watch|fix|write|deploy|publish|release|help)(?:[^a-z]|$)/i.test(name)) {
    return undefined;
  }
  if (
    /(?:^|[^a-z])(?:tests?|specs?|e2e|unit|integration|coverage|cov|check|verify|ci)(?:[^a-z]|$)/i.test(name)
  ) {
    return 'tests';
  }
  return /lint|types?|tsc|build|compile|validate|(?:^|:)(?:vet|bundle|dist)$/i.test(name)
    ? 'check'
    : undefined;
}

/** `make`, `just` and similar tools, which build by default. */
const targets: Rule = (args) => {
  if (hasOption(args, '-n', '--dry-run', '--just-print', '--list', '--summary', '-T', '-q')) return undefined;
  // These ignore failures, or only mark targets as built.
  if (hasOption(args, '-i', '--ignore-errors', '-t', '--touch')) return undefined;
  const names = operands(args).filter((arg) => !arg.includes('=') && !/^\d+$/.test(arg));
  if (names.length === 0) return 'check';
  const kinds = names.map(named);
  return kinds.find((kind) => kind === 'tests') ?? kinds.find((kind) => kind === 'check');
};

const BUILT_IN = words(
  'add audit cache config create dedupe dlx exec help i info init install link list login ls outdated pack patch ' +
    'prune publish rebuild remove rm root set store unlink update upgrade up version view why x ci whoami',
);

/** Package scripts run by npm and similar tools. `bare` is true if a script's name needs no `run`. */
const scripts =
  (bare: boolean): Rule =>
  (args) => {
    const rest = operands(
      withoutValues(args, ['--prefix', '-C', '--dir', '-w', '--workspace', '--filter', '-F', '--cwd']),
    );
    const isRun = /^run(?:-script)?$/.test(rest[0] ?? '');
    const name = rest[isRun ? 1 : 0] ?? '';
    if (!isRun && /^(?:t|tst)$/.test(name)) return 'tests';
    if (!isRun && (BUILT_IN.includes(name) || (!bare && !/^(?:test|start)$/.test(name)))) return undefined;
    if (name === 'start') return 'check';
    if (!bare || isRun) return named(name);
    if (/\.[cm]?[jt]sx?$/.test(name)) return 'run';
    // Without a script of that name, they run the program itself.
    return named(name) ?? (TABLE.has(name) ? kindOf(name, args.slice(args.indexOf(name) + 1)) : undefined);
  };

function withoutValues(args: readonly string[], options: readonly string[]): string[] {
  return args.filter((_, at) => !options.includes(args[at - 1] ?? ''));
}

const PYTHON_TESTS = words('pytest unittest nose2 nose tox doctest behave trial green');
const PYTHON_CHECKS = words('mypy flake8 pylint pyflakes py_compile compileall pyright build bandit ruff');

const python: Rule = (args) => {
  const module = args[args.indexOf('-m') + 1];
  if (!args.includes('-m') || module === undefined) {
    const [script = '', verb = ''] = operands(args);
    return /(?:^|\/)(?:manage|setup)\.py$/.test(script) ? named(verb) : 'run';
  }
  if (module === 'coverage') return coverage(args.slice(args.indexOf(module) + 1));
  if (PYTHON_TESTS.includes(module)) return 'tests';
  if (PYTHON_CHECKS.includes(module)) return 'check';
  if (module === 'black' || module === 'isort') return only('check', '--check', '--check-only')(args);
  return module === 'json.tool' ? 'look' : 'run';
};

const coverage: Judge = (args) => (args[0] === 'run' ? kindOf('python', args.slice(1)) : undefined);

/** Reads unless it edits in place. */
const sed: Judge = (args) => (args.some((arg) => /^-[a-zA-Z]*i|^--in-place/.test(arg)) ? undefined : 'read');

/** -n, -p and -i process files line by line. */
const script: Judge = (args) => {
  if (hasOption(args, '-c')) return 'check';
  return args.some((arg) => /^-[a-zA-Z0-9]*[npi]/.test(arg)) ? undefined : 'run';
};

const node: Judge = (args) => {
  if (hasOption(args, '--test')) return 'tests';
  return hasOption(args, '--check', '-c') ? 'check' : 'run';
};

const shell: Judge = (args) =>
  args.some((arg) => /^-[a-z]+$/.test(arg) && arg.includes('n')) ? 'check' : 'run';

const deno: Judge = (args) =>
  args[0] === 'task'
    ? named(operands(args)[1] ?? '')
    : verbs({ tests: 'test', check: 'check lint compile bench', run: 'run eval' })(args);

const docker: Judge = (args) =>
  /^(?:build|buildx build|compose (?:config|build))\b/.test(operands(args).join(' ')) ? 'check' : undefined;

const TABLE: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ...rules(
    'tests',
    'jest vitest mocha ava tap tape jasmine karma cypress wtr uvu tsd pytest py.test tox nox nose2 behave trial ' +
      'phpunit pest codecept rspec cucumber minitest ctest bats busted prove gotestsum kyua shellspec',
  ),
  ...rules(
    'check',
    'tsc vue-tsc tsgo svelte-check mypy pyright basedpyright pytype pyre pyrefly ty flow javac kotlinc scalac gcc g++ cc ' +
      'c++ clang clang++ rustc ghc ocamlc ocamlopt nasm protoc swc esbuild rollup webpack tsup ncc msbuild ninja samu ' +
      'bmake pdflatex xelatex lualatex latexmk sphinx-build ' +
      'eslint oxlint xo standard stylelint markdownlint markdownlint-cli2 htmlhint jshint flake8 pylint pyflakes bandit ' +
      'vulture shellcheck golangci-lint staticcheck revive rubocop brakeman standardrb phpstan psalm phpcs hadolint ' +
      'yamllint actionlint cppcheck clang-tidy ktlint detekt checkstyle swiftlint luacheck tflint tfsec checkov vale ' +
      'codespell cspell lychee kubeconform kubeval sqlfluff ansible-lint xmllint jsonlint ajv dotenv-linter',
  ),
  ...rules('read', 'cat head tail less more bat nl tac'),
  ...rules(sed, 'sed gsed'),
  ...rules('look', 'test [ [[ grep egrep fgrep rg ag ack diff cmp jq'),
  ...rules('run', 'php lua luajit Rscript julia elixir racket ts-node java kotlin scala groovy swipl gforth'),
  ...rules(script, 'ruby perl'),
  ...rules(scripts(false), 'npm'),
  ...rules(scripts(true), 'pnpm yarn bun'),
  ...rules(targets, 'make gmake just task rake invoke inv mage ant scons nmake moon turbo nx lerna doit'),
  ...rules(python, 'python python3 pypy pypy3 py'),
  ...rules(node, 'node tsx'),
  ...rules(shell, 'sh bash dash zsh ksh'),
  ...rules(jvm, 'mvn mvnw gradle gradlew'),
  ...rules(
    verbs({ tests: 'test runtest', check: 'build compile check analyze dialyzer credo run vet lint' }),
    'swift mix sbt lein zig bazel bazelisk buck2 stack cabal dune rebar3 flutter dart crystal nimble gleam pio',
  ),
  ...rules(
    verbs({ tests: 'test', check: 'build check lint' }),
    'vite next astro parcel nuxt ng hugo mkdocs gatsby remix',
  ),
  ...rules(verbs({ tests: 'test', check: 'validate plan' }), 'terraform tofu'),
  ...rules(only('check', '--check'), 'black rustfmt'),
  ['coverage', coverage],
  ['rails', (args) => named(operands(args)[0] ?? '')],
  ['composer', (args) => named(operands(args).find((arg) => !/^run(?:-script)?$/.test(arg)) ?? '')],
  ['pre-commit', verbs({ check: 'run' })],
  ['deno', deno],
  ['go', verbs({ tests: 'test', check: 'build vet run' })],
  ['cargo', (args) => (args[0] === 'fmt' ? only('check', '--check')(args) : cargo(args))],
  ['dotnet', verbs({ tests: 'test', check: 'build publish run' })],
  ['meson', verbs({ tests: 'test', check: 'compile' })],
  ['cmake', only('check', '--build')],
  ['playwright', verbs({ tests: 'test' })],
  ['biome', verbs({ check: 'check lint ci' })],
  ['prettier', only('check', '--check', '-c', '-l', '--list-different')],
  ['ruff', (args) => (args[0] === 'format' ? only('check', '--check')(args) : 'check')],
  ['isort', only('check', '--check', '--check-only', '-c')],
  ['helm', verbs({ check: 'lint template' })],
  ['promtool', verbs({ tests: 'test', check: 'check' })],
  ['buf', verbs({ check: 'lint build' })],
  ['docker', docker],
  ['nginx', only('check', '-t')],
  ['visudo', only('check', '-c')],
]);

function cargo(args: readonly string[]): CheckKind | undefined {
  const [verb = ''] = operands(args).filter((arg) => !arg.startsWith('+'));
  if (/^(?:test|t|nextest)$/.test(verb)) return hasOption(args, '--no-run') ? 'check' : 'tests';
  return /^(?:build|b|check|c|clippy|doc|bench|run|r|miri)$/.test(verb) ? 'check' : undefined;
}

function jvm(args: readonly string[]): CheckKind | undefined {
  const skips = args.some((arg) => /^-(?:DskipTests|Dmaven\.test\.skip)(?!=false)/.test(arg) || arg === '-x');
  if (args.some((arg) => /(?:^|:)(?:test|check|verify|integration-test|integrationTest)$/.test(arg))) {
    return skips ? 'check' : 'tests';
  }
  return args.some((arg) => /(?:^|:)(?:build|compile\w*|package|install|assemble|classes)$/.test(arg))
    ? 'check'
    : undefined;
}

/** Options that only print information, or what the program would do. */
const IDLE = words(
  '--help --version -help -version -h -V --collect-only --co --listTests --list --list-tests --dry-run --showConfig ' +
    '--init --print-config --if-present',
);

/** How a command verifies, or undefined if it does not. Its outcome is judged elsewhere. */
export function checkKind({ program, path, args }: CommandWords): CheckKind | undefined {
  // `script/test` belongs to the project; it is not the shell's `test`.
  const isOwn = program === 'test' && path.includes('/') && !/^\/(?:usr\/)?bin\//.test(path);
  const kind = isOwn ? undefined : kindOf(program, args);
  if (kind === 'look' || kind === 'read') return kind;
  if (kind === 'run') return IDLE.includes(args[0] ?? '') ? undefined : (scriptKind(args) ?? 'run');
  if (kind !== undefined) return hasOption(args, ...IDLE) || isVersion(args) ? undefined : kind;
  return path.includes('/') ? (named(stemOf(program)) ?? 'run') : undefined;
}

function kindOf(program: string, args: readonly string[]): CheckKind | undefined {
  const rule = TABLE.get(program.replace(/\.(?:cmd|exe)$|@[^@]*$/, '')) ?? versioned(program);
  return typeof rule === 'function' ? rule(args) : rule;
}

/** `python3.12`, `gcc-13`. */
const versioned = (program: string): Rule | undefined => {
  const [, plain = ''] = /^(.*[^\d.])[\d.]+$/.exec(program) ?? [];
  return TABLE.get(plain.replace(/-$/, ''));
};

const isVersion = (args: readonly string[]): boolean =>
  args.length === 1 && /^-v$|^version$/.test(args[0] ?? '');

/** A script's name tells its kind: `bash scripts/test.sh` runs tests. */
function scriptKind(args: readonly string[]): CheckKind | undefined {
  const [script] = operands(args);
  return script !== undefined && /\.\w+$/.test(script) ? named(stemOf(script)) : undefined;
}
