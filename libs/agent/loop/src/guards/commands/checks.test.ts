import assert from 'node:assert/strict';
import { test } from 'node:test';
import { effectsOf } from './effects.ts';

/** One word per effect: `tests`, `check`, `run` or `look`; `>` for a write, `-` for a removal. */
const read = (line: string): string =>
  effectsOf(line)
    .map((effect) => {
      if (effect.kind === 'write') return `>${effect.path ?? '?'}`;
      return effect.kind === 'removal' ? `-${effect.path}` : effect.how;
    })
    .join(' ');

/** Command lines, between dots, by their effects. */
const KINDS: Readonly<Record<string, string>> = {
  tests: `
    npm test · npm t · npm run test:unit · pnpm test · yarn test · yarn run check · bun test
    npx jest --ci · npx --yes vitest run · node --test · node --test 'src/**/*.test.ts' · pytest -q
    python3 -m pytest tests · python -m unittest · uv run pytest · poetry run pytest -x · tox -e py3
    go test ./... · cargo test --all · cargo +nightly nextest run · mvn -q verify · ./mvnw test
    ./gradlew check · dotnet test · mix test · make test · make -j4 check · just test · rake spec
    bundle exec rspec · ./vendor/bin/phpunit · ctest · deno test -A · swift test · bash scripts/test.sh
    ./run-tests.sh · CI=1 timeout 60 env A=b npm test · time -p make test · yarn jest · pnpm vitest run
    npx vitest@latest run · npx c8 node --test · nyc mocha · cross-env CI=1 jest
    coverage run -m pytest · python -m coverage run -m unittest · python manage.py test
    bin/rails test · script/test · deno task test · composer test · npx tsx --test
    python3 tests/test_a.py · terraform test · npx playwright test
  `,
  check: `
    tsc --noEmit · npx tsc -p . · make · make all build · npm run build · npm run lint
    npm run typecheck · eslint . · biome check src · prettier --check . · ruff check
    ruff format --check · black --check . · mypy a.py · python -m py_compile a.py · node --check a.js
    bash -n a.sh · sh -n a.sh · shellcheck a.sh · go vet ./... · go build · go run . · cargo build
    cargo clippy · cargo fmt --check · gcc -c a.c · g++-13 -c a.cc · javac A.java · terraform validate
    docker compose config -q · docker build . · cmake --build out · mvn compile · ninja · npm start
    ./scripts/build.sh · cargo test --no-run · mvn -DskipTests verify · vite build · pnpm eslint .
    pre-commit run --all-files · rustc a.rs · pnpm biome ci
  `,
  run: `
    node a.js · python3.12 a.py · ./a · ruby a.rb · node -e "1" · python - · sh a.sh · npx tsx a.ts
    deno run a.ts · bun a.ts
  `,
  read: 'cat a · head -5 a · tail a · sed -n 1,5p a · less a · bat a',
  look: 'grep -q x a · test -s a · [ -f a ] · diff a b · jq . a.json · rg x a · python -m json.tool a.json',
  '': `
    true · : · echo ok · printf x · ls -la · wc -l a · pwd · git status · git diff · sleep 1 · npm ci
    npm view x · npm run · npm run clean · npm run dev · node --version · tsc --version
    pytest --collect-only · pytest --help · jest --listTests · make -n · make -i test · make --ignore-errors
    CI=1 constructor x · npx constructor · make clean · make help · go version · cargo doc --help · gcc -v
    prettier . · which tsc · command -v tsc · curl http://x · mkdir -p a · npm run --if-present test · x=1
    cd a
  `,
  '>?': `
    npm install x · npm i · pnpm add x · yarn add x · pip install x · cargo add x · go mod tidy
    git apply x.patch · git checkout main · git restore a · git merge x · git reset --hard · git stash pop
    patch -p1 · tar xf a.tar · unzip a.zip · prettier --write . · black . · cargo fmt · npm create x
    find . -name "*.a" -exec sed -i s/a/b/ {} + · ls | xargs sed -i s/a/b/ · wget http://x/a
    curl -O http://x/a
  `,
  '>a': `
    echo x > a · echo x >> ./a · tee a < b · sed -i s/x/y/ a · sed -i.bak -e s/x/y/ -e s/y/z/ a
    perl -pi -e s/x/y/ a · touch a · cp b a · ln -s b a · dd if=b of=a · truncate -s 0 a
    curl -o a http://x · wget -O a http://x · cd . && echo > a · gofmt -w a · clang-format -i a
    (echo x) > a · for i in 1; do echo $i; done > a
  `,
  '>d/a': 'cd d && echo > a · cp x/a d/ · echo > d//a',
  '-a': 'rm a · rm -rf ./a · git rm a · unlink a',
  '>b -a': 'mv a b · git mv a b',
  '>? check': 'biome check --write src · eslint --fix . · ruff check --fix',
};

for (const [kinds, lines] of Object.entries(KINDS)) {
  test(`command lines with the effects: ${kinds === '' ? 'none' : kinds}`, () => {
    for (const line of lines.trim().split(/ · |\n\s+/)) assert.equal(read(line), kinds, line);
  });
}

test('writes outside the work are ignored', () => {
  for (const to of '/dev/null /tmp/x .scratch/x ./.scratch/x PROGRESS.json .git/x ~/x $HOME/x -'.split(' '))
    assert.equal(read(`echo x > ${to}`), '', to);
  assert.equal(read('git apply --check x; git checkout -b x; git merge --abort; patch --dry-run'), '');
});

test('a check knows whether the exit code of the line proves its success', () => {
  const shown = (line: string) => effectsOf(line).map((effect) => effect.kind === 'check' && effect.shown);
  assert.deepEqual(shown('npm test'), [true]);
  assert.deepEqual(shown('npm test | tail'), [false, true]);
  assert.deepEqual(shown('ls | xargs eslint'), [false], 'what it was given is not known');
});
