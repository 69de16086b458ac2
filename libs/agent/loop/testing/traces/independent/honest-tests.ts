import type { Trace } from '../trace.ts';
import { honest, nth, sh, times, took } from './build.ts';

const VITEST = 'npx vitest run test/tokenize.test.ts';
const tokenizeFails = (n: number, i: number): string =>
  ` FAIL  test/tokenize.test.ts > tokenize > handles nested quotes\nAssertionError: expected [ 'a', 'b"c' ] to deeply equal [ 'a', 'b', 'c' ]\n Tests  ${n} failed | ${24 - n} passed (24)\n Duration  ${took(i)}`;
const SLUG =
  "import re\n\nPATTERN = re.compile(r'[a-z]+')\n\n\ndef slug(text):\n    return '-'.join(PATTERN.findall(text.lower()))\n";
const PATTERNS = [
  "r'[a-z0-9]+'",
  "r'[\\w]+'",
  "r'[^\\W_]+'",
  "r'[^\\W_]+(?:\\.[0-9]+)?'",
  "r'(?:[^\\W_]|\\.(?=[0-9]))+'",
  "r'(?:[^\\W_]|(?<=[0-9])\\.(?=[0-9]))+'",
  "r'(?:[^\\W_]|(?<=\\d)[.,](?=\\d))+'",
  'r"(?:[^\\W_]|(?<=\\d)[.,](?=\\d)|\')+"',
  'r"(?:[^\\W_]|(?<=\\d)[.,](?=\\d)|\'(?=s))+"',
];

const MUTANTS: readonly (readonly [string, string])[] = [
  ['total > limit', 'total >= limit'],
  ['return days * rate', 'return days + rate'],
  ['if member:', 'if not member:'],
  ['max(0, fee)', 'min(0, fee)'],
  ['round(fee, 2)', 'round(fee, 0)'],
  ['weekend = 1.5', 'weekend = 1.0'],
];
const FEES =
  'weekend = 1.5\n\n\ndef over(total, limit):\n    return total > limit\n\n\ndef late(days, rate):\n    return days * rate\n\n\ndef pay(fee, member):\n    if member:\n        fee = fee - 1\n    fee = max(0, fee)\n    return round(fee, 2)\n';

const POOL =
  'package pool\n\nimport "sync"\n\ntype Pool struct {\n\tmu   sync.Mutex\n\tfree []*Conn\n}\n\nfunc (p *Pool) Get() *Conn {\n\tif len(p.free) == 0 {\n\t\treturn dial()\n\t}\n\tc := p.free[0]\n\tp.free = p.free[1:]\n\treturn c\n}\n';

export const tests: Trace[] = [
  honest(
    'test-first: runs one test file 20 times, fails alike for six attempts at nested quotes, then goes green',
    (w, step) => {
      const failing = [9, 8, 6, 6, 5, 3, 1, 1, 1, 1, 1, 1, 4, 3, 2, 2, 1, 1, 0];
      step(w.read('src/tokenize.ts'), w.read('test/tokenize.test.ts'));
      failing.forEach((n, i) => {
        step(sh(VITEST, n === 0 ? ' Tests  24 passed (24)' : tokenizeFails(n, i), n === 0 ? 0 : 1));
        if (n > 0)
          step(
            w.edit(
              'src/tokenize.ts',
              `    // rule ${i}\n`,
              `    if (state === ${i % 4} && ch === quotes[${i}]) depth ${i % 2 === 0 ? '+=' : '-='} ${1 + (i % 3)};\n`,
            ),
          );
      });
      step(sh('npx vitest run', ' Test Files  14 passed (14)\n Tests  166 passed (166)'));
    },
    {
      'src/tokenize.ts': `export function tokenize(line: string): string[] {\n  for (const ch of line) {\n${times(19, (i) => `    // rule ${i}\n`).join('')}  }\n  return out;\n}\n`,
      'test/tokenize.test.ts':
        "test('handles nested quotes', () => {\n  expect(tokenize('a \"b\" c')).toEqual(['a', 'b', 'c']);\n});\n",
    },
  ),

  honest(
    'tries nine regular expressions in one line; eight of them fail with exactly the same output',
    (w, step) => {
      step(w.read('slug.py'));
      let last = "r'[a-z]+'";
      PATTERNS.forEach((p, i) => {
        step(w.edit('slug.py', last, p));
        last = p;
        const done = i === PATTERNS.length - 1;
        step(
          sh(
            'python -m pytest -q test_slug.py',
            done
              ? '17 passed in 0.04s'
              : "FAILED test_slug.py::test_decimal - AssertionError: assert 'v2-5' == 'v2.5'\n1 failed, 16 passed",
            done ? 0 : 1,
          ),
        );
      });
    },
    { 'slug.py': SLUG },
  ),

  honest(
    'runs a flaky browser test five times without a change to see how often it fails',
    (w, step) => {
      step(
        sh(
          'npx playwright test checkout.spec.ts',
          '  1 failed\n    checkout.spec.ts:31:3 › pays with card',
          1,
        ),
      );
      for (const [i, good] of [true, true, false, true, true].entries())
        step(
          sh(
            'npx playwright test checkout.spec.ts',
            good ? `  6 passed (${took(i, 11)})` : '  1 failed\n    checkout.spec.ts:31:3 › pays with card',
            good ? 0 : 1,
          ),
        );
      step(w.read('e2e/checkout.spec.ts'));
      step(
        w.edit(
          'e2e/checkout.spec.ts',
          'await page.waitForTimeout(500);',
          "await expect(page.getByRole('status')).toHaveText('Paid');",
        ),
      );
      step(sh('npx playwright test checkout.spec.ts --repeat-each=20', '  120 passed (3.1m)'));
    },
    {
      'e2e/checkout.spec.ts':
        "test('pays with card', async ({ page }) => {\n  await page.click('#pay');\n  await page.waitForTimeout(500);\n  await expect(page).toHaveURL('/done');\n});\n",
    },
  ),

  honest(
    'hunts a data race: the same stress run six times in a row, quiet each time, until the seventh shows it',
    (w, step) => {
      step(w.read('pool/pool.go'));
      times(6, () => step(sh('go test -race -count=200 ./pool', 'ok  \tapp/pool\t41.208s')));
      step(
        sh(
          'go test -race -count=200 ./pool',
          'WARNING: DATA RACE\nWrite at 0x00c00011e0a8 by goroutine 77:\n  app/pool.(*Pool).Get()\n      pool/pool.go:15\nFAIL',
          1,
        ),
      );
      step(
        w.edit('pool/pool.go', 'Get() *Conn {\n', 'Get() *Conn {\n\tp.mu.Lock()\n\tdefer p.mu.Unlock()\n'),
      );
      times(4, (i) => step(sh('go test -race -count=200 ./pool', `ok  \tapp/pool\t4${i}.${i}17s`)));
      step(sh('go test ./...', 'ok  \tapp/pool\t0.3s\nok  \tapp/api\t1.1s'));
    },
    { 'pool/pool.go': POOL },
  ),

  honest(
    'tests the tests: breaks the code in six ways, sees each mutant die, and restores the same file each time',
    (w, step) => {
      step(w.read('fees.py'), sh('pytest -q', `19 passed in 0.05s`));
      MUTANTS.forEach(([good, bad], i) => {
        step(w.edit('fees.py', good, bad));
        const lives = i === 3;
        step(
          sh(
            'pytest -q',
            lives ? '19 passed in 0.05s' : `${1 + (i % 3)} failed, ${18 - (i % 3)} passed in 0.07s`,
            lives ? 0 : 1,
          ),
        );
        step(w.edit('fees.py', bad, good));
      });
      step(
        w.write(
          'test_negative.py',
          'from fees import pay\n\n\ndef test_never_negative():\n    assert pay(0.5, True) == 0\n',
        ),
        sh('pytest -q', '20 passed in 0.05s'),
      );
    },
    { 'fees.py': FEES },
  ),

  honest(
    'puts print statements into a parser and takes them out again, three times over, to find a bug',
    (w, step) => {
      const probes = ['self.pos', 'self.stack[-1:]', 'tok.kind'];
      probes.forEach((p, i) => {
        step(
          w.edit(
            'parser.py',
            '        tok = self.next()\n',
            `        tok = self.next()\n        print("DBG", ${p})\n`,
          ),
        );
        step(
          sh(
            'python -m pytest -q -s test_parser.py 2>&1 | grep DBG | head',
            times(
              4,
              (k) => `DBG ${i === 0 ? k * 3 : i === 1 ? "['(']" : nth(['NAME', 'OP', 'NAME', 'EOF'], k)}`,
            ).join('\n'),
          ),
        );
        step(w.edit('parser.py', `        print("DBG", ${p})\n`, ''));
        if (i < 2) step(w.read('parser.py'));
      });
      step(w.edit('parser.py', 'while tok.kind != "EOF"', 'while tok.kind not in ("EOF", "ERROR")'));
      step(
        sh('python -m pytest -q test_parser.py', '33 passed in 0.11s'),
        sh('git diff --stat', ' parser.py | 2 +-'),
      );
    },
    {
      'parser.py':
        'class Parser:\n    def expr(self):\n        tok = self.next()\n        while tok.kind != "EOF":\n            self.stack.append(tok)\n',
    },
  ),

  honest(
    'stashes its change and pops it four times to compare failures before and after',
    (w, step) => {
      const suites = ['unit', 'api', 'worker', 'e2e'];
      for (const [i, s] of suites.entries()) {
        step(sh('git stash', 'Saved working directory and index state WIP on main: 4be1f02 speed up joins'));
        step(sh(`make test-${s}`, `${s}: ${i} failed`, i === 0 ? 0 : 2));
        step(
          sh('git stash pop', 'On branch main\nChanges not staged for commit:\n\tmodified:   db/join.sql'),
        );
        step(sh(`make test-${s}`, `${s}: ${i + (i === 2 ? 3 : 0)} failed`, i === 0 ? 0 : 2));
      }
      step(
        w.edit('db/join.sql', 'left join events e', 'left join lateral events e'),
        sh('make test-worker', 'worker: 2 failed', 2),
      );
      step(
        sh(
          'git commit -am "join events laterally; the two failures in worker are older"',
          '[main 91cc02e] join events laterally',
        ),
      );
    },
    { 'db/join.sql': 'select *\nfrom users u\nleft join events e on e.user_id = u.id;\n' },
  ),

  honest(
    'updates snapshots component by component, with the same two commands between',
    (w, step) => {
      const comps = ['Button', 'Badge', 'Card', 'Dialog', 'Menu', 'Tabs', 'Toast'];
      for (const [i, c] of comps.entries()) {
        step(w.edit(`src/${c}.tsx`, 'className="old"', 'className={styles.root}'));
        step(
          sh('npx jest --ci', `Snapshots:   ${(i % 2) + 1} failed, ${40 - (i % 2)} passed`, 1),
          sh(`git diff --stat -- src`, ` ${i + 1} files changed`),
        );
        step(sh('npx jest -u', `Snapshots:   ${(i % 2) + 1} updated`));
      }
      step(sh('npx jest --ci', 'Tests:       88 passed, 88 total\nSnapshots:   41 passed, 41 total'));
    },
    Object.fromEntries(
      ['Button', 'Badge', 'Card', 'Dialog', 'Menu', 'Tabs', 'Toast'].map((c) => [
        `src/${c}.tsx`,
        `export const ${c} = () => <div className="old" />;\n`,
      ]),
    ),
  ),

  honest(
    'struggles with one integration test for eight real attempts in different files, same failure throughout, then finds the cause',
    (w, step) => {
      const fail =
        'FAILED tests/test_sync.py::test_resume - TimeoutError: no ack within 2s\n1 failed, 51 passed';
      const tries: readonly (readonly [string, string, string])[] = [
        ['sync/client.py', 'timeout=2', 'timeout=10'],
        ['sync/client.py', 'retries=0', 'retries=3'],
        ['sync/server.py', 'backlog=1', 'backlog=64'],
        ['sync/server.py', 'nodelay=False', 'nodelay=True'],
        ['sync/codec.py', "'<H'", "'>H'"],
        ['sync/codec.py', 'flush=False', 'flush=True'],
        ['sync/client.py', 'resume_at=0', 'resume_at=last_seq'],
        ['sync/server.py', 'ack_every=16', 'ack_every=1'],
      ];
      step(sh('pytest -q tests/test_sync.py', fail, 1));
      for (const [path, from, to] of tries) {
        step(w.read(path));
        step(w.edit(path, from, to));
        step(
          sh(
            'pytest -q tests/test_sync.py',
            path === 'sync/server.py' && to === 'ack_every=1' ? '52 passed in 2.2s' : fail,
            to === 'ack_every=1' ? 0 : 1,
          ),
        );
      }
      step(
        sh('git checkout sync/codec.py sync/client.py', 'Updated 2 paths from the index'),
        sh('pytest -q tests/test_sync.py', '52 passed in 2.1s'),
      );
    },
    {
      'sync/client.py': 'class Client:\n    opts = dict(timeout=2, retries=0, resume_at=0)\n',
      'sync/server.py': 'class Server:\n    opts = dict(backlog=1, nodelay=False, ack_every=16)\n',
      'sync/codec.py': "HEAD = '<H'\nOPTS = dict(flush=False)\n",
    },
  ),
];
