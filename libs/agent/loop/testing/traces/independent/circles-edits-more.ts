import type { Trace } from '../trace.ts';
import { circle, grep, nth, progress, sh, times, took } from './build.ts';

const CLIENT =
  "import { request } from './http';\n\nexport async function getOrder(id: string) {\n  return request(`/orders/${id}`, { timeout: 1000 });\n}\n";
const failClient = (i: number): string =>
  ` FAIL  test/client.test.ts > getOrder > gives up after the deadline\nAssertionError: expected 'pending' to be 'aborted'\n Tests  1 failed | 7 passed (8)\n Duration  ${took(i)}`;
const A =
  'from dataclasses import dataclass\n\n\n@dataclass\nclass Node:\n    key: int\n    next: "Node | None" = None\n\n\ndef reverse(head):\n    prev = None\n    while head:\n        head.next, prev, head = prev, head, head.next\n    return prev\n';
const REVERSE =
  "FAILED test_list.py::test_reverse - AttributeError: 'NoneType' object has no attribute 'key'\n1 failed, 4 passed";
const TRIO: readonly (readonly [string, string, string])[] = [
  ['src/store.ts', 'export default store;', 'export { store };'],
  ['src/app.ts', "import store from './store';", "import { store } from './store';"],
  ['src/main.ts', "import('./app.js')", "import('./app')"],
];
const trioFiles = Object.fromEntries(TRIO.map(([p, a]) => [p, `// ${p}\n\nconst store = {};\n${a}\n`]));

export const editsMore: Trace[] = [
  circle(
    'appends the same test function by an edit at the end of the file; the file grows, the test fails alike',
    (w, step) => {
      times(26, (i) => {
        step(
          w.edit(
            'test_list.py',
            '# end of tests\n',
            'def test_reverse():\n    assert reverse(Node(1)).key == 1\n\n\n# end of tests\n',
          ),
        );
        step(sh('pytest -q test_list.py', `${REVERSE} in ${took(i, 0)}`, 1));
      });
    },
    { 'test_list.py': 'from list import Node, reverse\n\n\n# end of tests\n' },
  ),

  circle(
    'inserts the same import into a component again and again without looking',
    (w, step) => {
      times(40, () =>
        step(w.edit('src/Cart.tsx', '// components\n', "import { Badge } from './Badge';\n// components\n")),
      );
    },
    { 'src/Cart.tsx': '// components\n\nexport const Cart = () => <Badge n={0} />;\n' },
  ),

  circle(
    'edits three files round-robin to one style of import and then all three back',
    (w, step) => {
      times(10, (i) => {
        for (const [path, a, b] of TRIO) step(i % 2 === 0 ? w.edit(path, a, b) : w.edit(path, b, a));
        step(sh('npm run build', 'src/main.ts: error: No matching export in "src/store.ts" for import', 1));
        step(
          w.read('src/store.ts'),
          sh('git diff --stat', i % 2 === 0 ? ' 3 files changed, 3 insertions(+), 3 deletions(-)' : ''),
        );
      });
      times(4, (i) => {
        for (const [path, a, b] of TRIO) step(i % 2 === 0 ? w.edit(path, a, b) : w.edit(path, b, a));
      });
    },
    trioFiles,
  ),

  circle(
    'sets a buffer size to three values in turn, the same test failing with each',
    (w, step) => {
      const sizes = [512, 1024, 4096];
      step(w.read('ring.go'));
      times(30, (i) => {
        step(w.edit('ring.go', `const size = ${nth(sizes, i)}`, `const size = ${nth(sizes, i + 1)}`));
        step(
          sh(
            'go test ./ring',
            `--- FAIL: TestWrap (0.0${i % 7}s)\n    ring_test.go:22: got 0 bytes, want 3\nFAIL\tapp/ring\t0.0${i % 9}4s`,
            1,
          ),
        );
      });
    },
    { 'ring.go': 'package ring\n\nconst size = 512\n' },
  ),

  circle(
    'swaps a word back and forth with sed in the shell, the build failing alike',
    (w, step) => {
      step(w.read('conf/app.toml'));
      times(15, () => {
        step(sh('sed -i s/strict/loose/ conf/app.toml'));
        step(sh('make check', 'check: unknown mode', 2));
        step(sh('sed -i s/loose/strict/ conf/app.toml'));
        step(sh('make check', 'check: unknown mode', 2));
      });
    },
    { 'conf/app.toml': 'mode = "strict"\n' },
  ),

  circle(
    'edits, sees the test fail, undoes it by git checkout, and makes the very same edit again',
    (w, step) => {
      times(15, (i) => {
        step(w.read('list.py'));
        step(
          w.edit(
            'list.py',
            'head.next, prev, head = prev, head, head.next',
            'prev, head.next, head = head, prev, head.next',
          ),
        );
        step(sh('pytest -q test_list.py', `${REVERSE} in ${took(i, 0)}`, 1));
        w.set('list.py', A);
        step(sh('git checkout list.py', 'Updated 1 path from the index'));
      });
    },
    { 'list.py': A },
  ),

  circle(
    'a round of seven steps, with reading, diffs and a note of progress in it, that ends where it began',
    (w, step) => {
      times(10, (i) => {
        step(w.read('src/client.ts'));
        step(w.edit('src/client.ts', '{ timeout: 1000 }', '{ signal: AbortSignal.timeout(1000) }'));
        step(sh('npx vitest run test/client.test.ts', failClient(i), 1));
        step(sh('git diff --stat', ' src/client.ts | 2 +-'), progress('trying another way to abort'));
        step(w.edit('src/client.ts', '{ signal: AbortSignal.timeout(1000) }', '{ timeout: 1000 }'));
        step(sh('npx vitest run test/client.test.ts', failClient(i + 5), 1));
        step(grep('timeout', 'src', 'src/client.ts:4: timeout: 1000', 'src/http.ts:8: timeout?: number'));
      });
    },
    { 'src/client.ts': CLIENT },
  ),

  circle('writes a helper file, deletes it, and writes it again', (w, step) => {
    times(22, () => {
      step(w.write('src/deadline.ts', 'export const deadline = (ms: number) => AbortSignal.timeout(ms);\n'));
      step(sh('rm src/deadline.ts'));
    });
  }),

  circle('writes a whole document again with one more copy of the same paragraph each time', (w, step) => {
    times(38, (i) =>
      step(
        w.write(
          'manual/usage.md',
          `# Usage\n\n${times(i + 1, () => 'Run `kiosk --help` to see all options.\n').join('\n')}`,
        ),
      ),
    );
  }),

  circle(
    'writes three files with the same contents in rounds, listing the folder after each round',
    (w, step) => {
      times(14, () => {
        for (const [path, a] of TRIO) step(w.write(path, `// ${path}\n\n${a}\n`));
        step(sh('ls src', 'app.ts\nmain.ts\nstore.ts'));
      });
    },
  ),
];
