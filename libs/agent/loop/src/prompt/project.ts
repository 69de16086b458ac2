import { isJsonObject } from '@hermes-fleet/protocol';
import { parseJson } from '../messages/final-message.ts';

/** The top-level files of a workspace. `read` returns undefined for a large or unreadable file. */
interface ProjectSource {
  readonly names: ReadonlySet<string>;
  read(name: string): Promise<string | undefined>;
}

/** Detects languages, package managers and test commands by well-known files, one line each. Runs nothing. */
export async function projectLines(source: ProjectSource): Promise<string[]> {
  const lines = await Promise.all(ECOSYSTEMS.map((describe) => describe(source)));
  return lines.filter((line) => line !== undefined);
}

type Describe = (source: ProjectSource) => Promise<string | undefined>;

const line = (language: string, manager: string | undefined, tests: string | undefined): string =>
  `${language}${manager ? ` with ${manager}` : ''}${tests ? `, tests: ${tests}` : ''}`;

const known =
  (file: string, language: string, manager: string | undefined, tests: string | undefined): Describe =>
  async ({ names }) =>
    names.has(file) ? line(language, manager, tests) : undefined;

const NODE_MANAGERS: readonly (readonly [lock: string, manager: string])[] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['package-lock.json', 'npm'],
];
/** Only the names of these scripts go into the prompt. */
const SCRIPTS = ['test', 'lint', 'typecheck', 'check', 'build'];
/** The default test script of `npm init`. */
const NO_TESTS = /no test specified/;

const node: Describe = async ({ names, read }) => {
  if (!names.has('package.json')) return undefined;
  const manifest = parseJson((await read('package.json')) ?? '');
  const fields = isJsonObject(manifest) ? manifest : {};
  const declared =
    typeof fields.packageManager === 'string'
      ? /^(npm|pnpm|yarn|bun)@/.exec(fields.packageManager)?.[1]
      : undefined;
  const manager = declared ?? NODE_MANAGERS.find(([lock]) => names.has(lock))?.[1] ?? 'npm';
  const scripts = isJsonObject(fields.scripts) ? fields.scripts : {};
  const present = SCRIPTS.filter((name) => {
    const script = Object.hasOwn(scripts, name) ? scripts[name] : undefined;
    return typeof script === 'string' && script !== '' && !(name === 'test' && NO_TESTS.test(script));
  });
  const run = manager === 'bun' ? 'bun run' : manager;
  const tests = present.includes('test') ? `${run} test` : undefined;
  const others = present.filter((name) => name !== 'test');
  const language = names.has('tsconfig.json') ? 'TypeScript' : 'JavaScript';
  return `${line(language, manager, tests)}${others.length > 0 ? `, other scripts: ${others.join(', ')}` : ''}`;
};

const PYTHON = ['pyproject.toml', 'setup.py', 'setup.cfg', 'requirements.txt', 'Pipfile', 'tox.ini'];
const PYTHON_MANAGERS: readonly (readonly [file: string, manager: string])[] = [
  ['uv.lock', 'uv'],
  ['poetry.lock', 'poetry'],
  ['pdm.lock', 'pdm'],
  ['Pipfile', 'pipenv'],
];

const python: Describe = async ({ names, read }) => {
  if (!PYTHON.some((file) => names.has(file))) return undefined;
  const manager = PYTHON_MANAGERS.find(([file]) => names.has(file))?.[1];
  const hasPytest =
    ['pytest.ini', 'conftest.py'].some((file) => names.has(file)) ||
    /^\[tool\.pytest/m.test((names.has('pyproject.toml') && (await read('pyproject.toml'))) || '');
  const tests = manager === undefined ? 'pytest' : `${manager} run pytest`;
  return line('Python', manager ?? 'pip', hasPytest ? tests : undefined);
};

const make: Describe = async ({ names, read }) => {
  const file = ['GNUmakefile', 'Makefile', 'makefile'].find((name) => names.has(name));
  if (file === undefined) return undefined;
  const hasTest = /^test[ \t]*:(?!=)/m.test((await read(file)) ?? '');
  return hasTest ? line('a Makefile', undefined, 'make test') : 'a Makefile';
};

const gradle: Describe = async ({ names }) => {
  if (!names.has('build.gradle') && !names.has('build.gradle.kts')) return undefined;
  return line('Java or Kotlin', 'Gradle', names.has('gradlew') ? './gradlew test' : 'gradle test');
};

const ruby: Describe = async ({ names }) =>
  names.has('Gemfile')
    ? line('Ruby', 'Bundler', names.has('.rspec') ? 'bundle exec rspec' : undefined)
    : undefined;

const ECOSYSTEMS: readonly Describe[] = [
  node,
  python,
  known('Cargo.toml', 'Rust', 'Cargo', 'cargo test'),
  known('go.mod', 'Go', undefined, 'go test ./...'),
  known('pom.xml', 'Java', 'Maven', 'mvn test'),
  gradle,
  ruby,
  known('composer.json', 'PHP', 'Composer', undefined),
  known('mix.exs', 'Elixir', 'Mix', 'mix test'),
  known('deno.json', 'TypeScript', 'Deno', 'deno test'),
  known('CMakeLists.txt', 'C or C++', 'CMake', undefined),
  make,
];
