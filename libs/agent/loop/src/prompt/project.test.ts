import assert from 'node:assert/strict';
import { test } from 'node:test';
import { projectLines } from './project.ts';

const lines = (files: Readonly<Record<string, string>>): Promise<string[]> =>
  projectLines({ names: new Set(Object.keys(files)), read: async (name) => files[name] });

const manifest = (fields: object): string => JSON.stringify(fields);

const CASES: [what: string, files: Readonly<Record<string, string>>, expected: string[]][] = [
  ['nothing known', { 'a.txt': '' }, []],
  ['npm', { 'package.json': manifest({ scripts: { test: 'x' } }) }, ['JavaScript with npm, tests: npm test']],
  [
    'npm init',
    { 'package.json': manifest({ scripts: { test: 'echo "Error: no test specified"' } }) },
    ['JavaScript with npm'],
  ],
  ['a lockfile', { 'package.json': '{}', 'yarn.lock': '', 'tsconfig.json': '' }, ['TypeScript with yarn']],
  [
    'a declared manager',
    {
      'package.json': manifest({ packageManager: 'bun@1.2', scripts: { test: 'x', build: 'y' } }),
      'yarn.lock': '',
    },
    ['JavaScript with bun, tests: bun run test, other scripts: build'],
  ],
  [
    'an unknown declared manager',
    { 'package.json': manifest({ packageManager: 'rm -rf' }) },
    ['JavaScript with npm'],
  ],
  [
    'scripts in __proto__',
    { 'package.json': '{"scripts":{"__proto__":{"test":"x"}}}' },
    ['JavaScript with npm'],
  ],
  ['invalid JSON', { 'package.json': 'x' }, ['JavaScript with npm']],
  ['python', { 'requirements.txt': '' }, ['Python with pip']],
  [
    'pytest',
    { 'pyproject.toml': '[tool.pytest.ini_options]\n', 'uv.lock': '' },
    ['Python with uv, tests: uv run pytest'],
  ],
  ['rust', { 'Cargo.toml': '' }, ['Rust with Cargo, tests: cargo test']],
  ['go', { 'go.mod': '' }, ['Go, tests: go test ./...']],
  ['gradle', { 'build.gradle.kts': '', gradlew: '' }, ['Java or Kotlin with Gradle, tests: ./gradlew test']],
  ['ruby', { Gemfile: '', '.rspec': '' }, ['Ruby with Bundler, tests: bundle exec rspec']],
  ['make', { Makefile: 'all: x\ntest: y\n' }, ['a Makefile, tests: make test']],
  ['make without tests', { Makefile: 'test := 1\nlatest: y\n' }, ['a Makefile']],
  ['two ecosystems', { 'go.mod': '', Makefile: '' }, ['Go, tests: go test ./...', 'a Makefile']],
];

for (const [what, files, expected] of CASES) {
  test(`a project is detected by its well-known files: ${what}`, async () => {
    assert.deepEqual(await lines(files), expected);
  });
}
