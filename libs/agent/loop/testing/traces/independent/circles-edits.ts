import type { Trace } from '../trace.ts';
import { circle, grep, nth, sh, times, took } from './build.ts';

const CLIENT =
  "import { request } from './http';\n\nexport async function getOrder(id: string) {\n  return request(`/orders/${id}`, { timeout: 1000 });\n}\n";
const failClient = (i: number): string =>
  ` FAIL  test/client.test.ts > getOrder > gives up after the deadline\nAssertionError: expected 'pending' to be 'aborted'\n Tests  1 failed | 7 passed (8)\n Duration  ${took(i)}`;
const A =
  'from dataclasses import dataclass\n\n\n@dataclass\nclass Node:\n    key: int\n    next: "Node | None" = None\n\n\ndef reverse(head):\n    prev = None\n    while head:\n        head.next, prev, head = prev, head, head.next\n    return prev\n';
const B = A.replace(
  '        head.next, prev, head = prev, head, head.next\n',
  '        nxt = head.next\n        head.next = prev\n        prev = nxt\n        head = nxt\n',
);
const REVERSE =
  "FAILED test_list.py::test_reverse - AttributeError: 'NoneType' object has no attribute 'key'\n1 failed, 4 passed";
export const edits: Trace[] = [
  circle(
    'sets a timeout to 5000, runs the failing test, sets it back to 1000, runs it again, on and on',
    (w, step) => {
      step(w.read('src/client.ts'));
      times(16, (i) => {
        step(w.edit('src/client.ts', 'timeout: 1000', 'timeout: 5000'));
        step(sh('npx vitest run test/client.test.ts', failClient(2 * i), 1));
        step(w.edit('src/client.ts', 'timeout: 5000', 'timeout: 1000'));
        step(sh('npx vitest run test/client.test.ts', failClient(2 * i + 1), 1));
      });
    },
    { 'src/client.ts': CLIENT },
  ),

  circle(
    'works well for fourteen steps and then goes back and forth between await and no await without a test',
    (w, step) => {
      step(w.read('src/client.ts'), grep('getOrder', 'src', 'src/client.ts:3', 'src/page.ts:9'));
      times(6, (i) => {
        step(
          w.write(
            `src/page${i}.ts`,
            `import { getOrder } from './client';\n\nexport const page${i} = () => getOrder('${i}');\n`,
          ),
        );
        step(
          sh(
            'npx tsc --noEmit',
            i < 5
              ? ''
              : "src/page5.ts(3,28): error TS2322: Type 'Promise<Order>' is not assignable to type 'Order'.",
            i < 5 ? 0 : 2,
          ),
        );
      });
      times(24, () => {
        step(w.edit('src/client.ts', 'return request(', 'return await request('));
        step(w.edit('src/client.ts', 'return await request(', 'return request('));
      });
    },
    { 'src/client.ts': CLIENT },
  ),

  circle(
    'makes the same edit whose old text is not in the file, again and again',
    (w, step) => {
      step(w.read('src/client.ts'));
      times(42, () =>
        step(
          w.editFails(
            'src/client.ts',
            'return fetch(`/orders/${id}`);',
            'return fetch(`/orders/${id}`, { signal });',
          ),
        ),
      );
    },
    { 'src/client.ts': CLIENT },
  ),

  circle(
    'reads the file, makes the same edit with the wrong indentation, is refused, reads again',
    (w, step) => {
      times(30, () => {
        step(w.read('src/client.ts'));
        step(
          w.editFails(
            'src/client.ts',
            '    return request(`/orders/${id}`, { timeout: 1000 });',
            '    return request(`/orders/${id}`, { signal: deadline(1000) });',
          ),
        );
      });
    },
    { 'src/client.ts': CLIENT },
  ),

  circle(
    'changes nothing but the wording of one comment between runs of the same failing test',
    (w, step) => {
      const words = [
        'fixed',
        'should work now',
        'really fixed',
        'handles the deadline',
        'final fix',
        'works',
      ];
      step(w.edit('src/client.ts', '  return request(', '  // fix\n  return request('));
      let last = 'fix';
      times(28, (i) => {
        step(sh('npx vitest run test/client.test.ts', failClient(i), 1));
        step(w.edit('src/client.ts', `// ${last}\n`, `// ${nth(words, i)}\n`));
        last = nth(words, i);
      });
    },
    { 'src/client.ts': CLIENT },
  ),

  circle(
    'adds an empty line and takes it out again between runs of the same failing test',
    (w, step) => {
      times(18, (i) => {
        step(
          w.edit('list.py', 'prev = None\n', 'prev = None\n\n'),
          sh('pytest -q test_list.py', `${REVERSE} in ${took(i, 0)}`, 1),
        );
        step(
          w.edit('list.py', 'prev = None\n\n', 'prev = None\n'),
          sh('pytest -q test_list.py', `${REVERSE} in ${took(i + 1, 0)}`, 1),
        );
        step(w.read('list.py'));
      });
    },
    { 'list.py': A },
  ),

  circle('writes the whole file anew with the same content each time', (w, step) => {
    times(40, () => step(w.write('list.py', A)));
  }),

  circle('writes the whole file with the same content and runs the same failing test', (w, step) => {
    times(28, (i) => {
      step(w.write('list.py', A));
      step(sh('pytest -q test_list.py', `${REVERSE} in ${took(i, 0)}`, 1));
    });
  }),

  circle('writes the whole file with two contents in turn, the test failing alike with both', (w, step) => {
    times(30, (i) => {
      step(w.write('list.py', i % 2 === 0 ? A : B));
      step(sh('pytest -q test_list.py', REVERSE, 1));
    });
  }),

  circle(
    'appends the same block to a file over and over with cat >>',
    (w, step) => {
      times(42, () => step(w.append('README.md', '## Usage\n\nRun `kiosk --help` to see all options.\n\n')));
    },
    { 'README.md': '# Kiosk\n\n' },
  ),
];
