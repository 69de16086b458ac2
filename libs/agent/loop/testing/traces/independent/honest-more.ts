import type { Trace } from '../trace.ts';
import { grep, honest, list, nth, output, progress, sh, start, stop, times, took } from './build.ts';

const PKGS = ['core', 'cli', 'http', 'sql', 'log', 'auth', 'mail', 'jobs', 'cache', 'files', 'i18n', 'admin'];
const MIT =
  'MIT License\n\nCopyright (c) 2026 Acme\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software.\n';
const LINKER =
  "/usr/bin/ld: build/net.o: in function `net_open': undefined reference to `tls_init'\ncollect2: error: ld returned 1 exit status\nmake: *** [Makefile:14: app] Error 1";
const LINK_TRIES: readonly (readonly [string, string, string])[] = [
  ['Makefile', 'LIBS = -lm', 'LIBS = -lm -ltls'],
  ['Makefile', '-ltls', '-ltls -L/opt/tls/lib'],
  ['src/net.c', '#include "tls.h"', '#include <tls/tls.h>'],
  ['src/net.c', '#include <tls/tls.h>', '#ifdef __cplusplus\nextern "C" {\n#endif\n#include <tls/tls.h>'],
  ['src/tls_shim.c', '/* empty */', '#include <tls/tls.h>\nint tls_shim(void) { return tls_init(); }'],
  ['Makefile', 'SRC = src/net.c', 'SRC = src/net.c src/tls_shim.c'],
  ['Makefile', '-L/opt/tls/lib', '-L/opt/tls/lib64'],
  ['Makefile', '$(CC) $(LIBS) $(SRC)', '$(CC) $(SRC) $(LIBS)'],
];
const CASES = ['guest', 'member', 'admin', 'expired', 'offline'];

export const more: Trace[] = [
  honest(
    'deletes old rows in batches: the very same statement with the very same answer, twenty-two times, until fewer are left',
    (_w, step) => {
      step(sh('psql -Atc "select count(*) from events where at < now() - interval \'2 years\'"', '224211'));
      times(22, () =>
        step(
          sh(
            'psql -c "delete from events where id in (select id from events where at < now() - interval \'2 years\' limit 10000)"',
            'DELETE 10000',
          ),
        ),
      );
      step(
        sh(
          'psql -c "delete from events where id in (select id from events where at < now() - interval \'2 years\' limit 10000)"',
          'DELETE 4211',
        ),
      );
      step(sh('psql -c "vacuum analyze events"', 'VACUUM'));
    },
  ),

  honest(
    'drains a queue with the same command, eighteen times, looking at its length after every sixth',
    (_w, step) => {
      times(18, (i) => {
        step(sh('php artisan queue:work --once', 'App\\Jobs\\SendInvoice .... DONE'));
        if (i % 6 === 5) step(sh('redis-cli llen queues:default', `${17 - i}`));
      });
      step(sh('php artisan queue:work --once', ''), sh('redis-cli llen queues:default', '0'));
    },
  ),

  honest(
    'writes the same licence text into twelve packages, and the same .gitkeep into twelve folders',
    (w, step) => {
      for (const p of PKGS) step(w.write(`packages/${p}/LICENSE`, MIT));
      step(...PKGS.map((p) => w.write(`packages/${p}/fixtures/.gitkeep`, '')));
      step(sh('git status --short | wc -l', '24'));
    },
  ),

  honest(
    'fights a linker error through eight real changes, the message always the same, until the order of arguments is right',
    (w, step) => {
      step(w.read('Makefile'), sh('make clean && make', LINKER, 2));
      for (const [i, [path, from, to]] of LINK_TRIES.entries()) {
        step(w.edit(path, from, to));
        const done = i === LINK_TRIES.length - 1;
        step(
          sh(
            'make clean && make',
            done ? 'cc src/net.c src/tls_shim.c -lm -ltls -o app' : LINKER,
            done ? 0 : 2,
          ),
        );
        if (i === 4)
          step(sh('nm -D /opt/tls/lib64/libtls.so | grep tls_init', '0000000000004a10 T tls_init'));
      }
    },
    {
      Makefile: 'LIBS = -lm\nSRC = src/net.c\napp:\n\t$(CC) $(LIBS) $(SRC) -o app\n',
      'src/net.c': '#include "tls.h"\n\nint net_open(void) { return tls_init(); }\n',
      'src/tls_shim.c': '/* empty */\n',
    },
  ),

  honest(
    'reads the same eight files a second time after a long stretch of other work, because they are no longer in mind',
    (w, step) => {
      for (const p of PKGS.slice(0, 8)) step(w.read(`packages/${p}/index.ts`));
      times(10, (i) => {
        step(w.write(`packages/core/part${i}.ts`, `export const part${i} = (n: number) => n * ${i + 2};\n`));
        step(sh('npm test --silent', `pass ${40 + i}`));
      });
      for (const p of PKGS.slice(0, 8)) step(w.read(`packages/${p}/index.ts`));
      step(
        w.edit(
          'packages/core/index.ts',
          'export {};',
          times(10, (i) => `export * from './part${i}';`).join('\n'),
        ),
        sh('npm test --silent', 'pass 50'),
      );
    },
    Object.fromEntries(PKGS.map((p) => [`packages/${p}/index.ts`, `/** ${p} */\nexport {};\n`])),
  ),

  honest(
    'tests a feature flag off and on for five kinds of user, setting it back each time',
    (w, step) => {
      for (const [i, c] of CASES.entries()) {
        step(w.edit('flags.json', '"checkout2": false', '"checkout2": true'));
        step(
          sh(
            `npx playwright test --grep ${c}`,
            i === 3 ? '1 failed' : `4 passed (${took(i, 9)})`,
            i === 3 ? 1 : 0,
          ),
        );
        step(w.edit('flags.json', '"checkout2": true', '"checkout2": false'));
        step(sh(`npx playwright test --grep ${c}`, `4 passed (${took(i + 2, 9)})`));
      }
      step(w.write('manual/checkout2.md', 'Works for all but expired members: see test "expired".\n'));
    },
    { 'flags.json': '{ "checkout2": false }\n' },
  ),

  honest(
    'resets its fixtures with the same git checkout before each of twelve runs of an importer it is writing',
    (w, step) => {
      times(12, (i) => {
        step(
          w.edit(
            'import.rb',
            `# step ${i}\n`,
            `  row[:c${i}] = ${nth(['Integer', 'Float', 'Date.parse'], i)}(row[:c${i}])\n`,
          ),
        );
        step(
          sh(
            'git checkout -q fixtures && ruby import.rb fixtures',
            `imported ${i * 17} of 204 rows`,
            i < 11 ? 1 : 0,
          ),
        );
      });
      step(sh('git status --short', ' M import.rb'));
    },
    { 'import.rb': times(12, (i) => `# step ${i}\n`).join('') },
  ),

  honest(
    'goes to and fro between a header and its source for twenty edits, each of them new',
    (w, step) => {
      times(10, (i) => {
        step(w.edit('ring.h', '/* next */\n', `int ring_op${i}(ring *r, int n);\n/* next */\n`));
        step(
          w.edit(
            'ring.c',
            '/* next */\n',
            `int ring_op${i}(ring *r, int n) { return r->head + n * ${i + 1}; }\n\n/* next */\n`,
          ),
        );
        if (i % 2 === 1) step(sh('make -s check', `${i + 1} checks, 0 failures`));
      });
    },
    { 'ring.h': 'typedef struct ring ring;\n/* next */\n', 'ring.c': '#include "ring.h"\n/* next */\n' },
  ),

  honest(
    'flashes a microcontroller after each of nine edits; flash and monitor print nearly the same each time',
    (w, step) => {
      times(9, (i) => {
        step(
          w.edit('main/app.c', `/* tune ${i} */`, `i2c_set(${nth([0x10, 0x11, 0x12], i)}, ${i * 7 + 3});`),
        );
        step(
          sh('idf.py -p /dev/ttyUSB0 flash', 'Hash of data verified.\nHard resetting via RTS pin...\nDone'),
        );
        step(start('idf.py -p /dev/ttyUSB0 monitor', `m${i}`), sh('sleep 4'));
        step(
          output(`m${i}`, i < 8 ? 'I (312) app: sensor: no ack\n' : 'I (312) app: sensor: 21.4 C\n'),
          stop(`m${i}`),
        );
      });
    },
    { 'main/app.c': times(9, (i) => `/* tune ${i} */`).join('\n') },
  ),

  honest(
    'runs one benchmark ten times unchanged for a median, edits, and runs it ten times again',
    (w, step) => {
      times(10, (i) =>
        step(
          sh(
            'hyperfine -r1 ./solve | grep Time',
            `Time (abs):  ${(2.41 + ((i * 7) % 5) / 100).toFixed(2)} s`,
          ),
        ),
      );
      step(
        w.edit('solve.zig', 'std.ArrayList(u32)', 'std.BoundedArray(u32, 4096)'),
        sh('zig build -Doptimize=ReleaseFast'),
      );
      times(10, (i) =>
        step(
          sh(
            'hyperfine -r1 ./solve | grep Time',
            `Time (abs):  ${(1.98 + ((i * 3) % 4) / 100).toFixed(2)} s`,
          ),
        ),
      );
      step(sh('git commit -qam "no allocation in the inner loop"'));
    },
    { 'solve.zig': 'var todo = std.ArrayList(u32).init(gpa);\n' },
  ),

  honest('writes ten slides with the same separator and the same footer appended after each', (w, step) => {
    step(w.write('talk.md', '---\nmarp: true\n---\n\n'));
    times(10, (i) => {
      step(
        w.append(
          'talk.md',
          `# ${nth(['Why', 'How', 'Costs', 'Risks', 'Plan'], i)} ${i + 1}\n\n- point ${i * 2 + 1}\n- point ${i * 2 + 2}\n\n`,
        ),
      );
      step(w.append('talk.md', '<footer>Acme 2026</footer>\n\n---\n\n'));
    });
    step(sh('marp talk.md -o talk.pdf'), list('.', 'talk.md', 'talk.pdf'));
  }),

  honest(
    'ports a test suite: reads the old test, writes the new one, runs it, twenty files long, and every third fails at first',
    (w, step) => {
      times(20, (i) => {
        const path = `test/case${i}.test.ts`;
        step(w.read(`spec/case${i}_spec.rb`));
        step(
          w.write(
            path,
            `test('case ${i}', () => {\n  expect(run(${i})).toBe('${i % 3 === 0 ? i : i * 2}');\n});\n`,
          ),
          sh(`npx vitest run ${path}`, i % 3 === 0 ? '1 failed' : '1 passed', i % 3 === 0 ? 1 : 0),
        );
        if (i % 3 === 0)
          step(w.edit(path, `'${i}'`, `'${i * 2}x'`), sh(`npx vitest run ${path}`, '1 passed'));
      });
      step(
        progress('twenty of twenty tests ported'),
        grep('_spec', '.github', '.github/workflows/ci.yml:9: run: rspec'),
      );
    },
    Object.fromEntries(
      times(20, (i) => [
        `spec/case${i}_spec.rb`,
        `it 'does case ${i}' do\n  expect(run(${i})).to eq '${i * 2}'\nend\n`,
      ]),
    ),
  ),

  honest('applies a patch series of fourteen mails with the same command', (_w, step) => {
    times(14, (i) =>
      step(
        sh(
          'git am --3way < "$(ls -1 inbox/*.patch | head -1)" && mv "$(ls -1 inbox/*.patch | head -1)" done/',
          `Applying: part ${i + 1} of 14`,
        ),
      ),
    );
    step(list('inbox'), sh('make -s check', '211 checks, 0 failures'));
  }),

  honest(
    'explores an unknown JSON with jq and python one-liners, a dozen of which print null',
    (_w, step) => {
      const keys = [
        '.data',
        '.items',
        '.result',
        '.results',
        '.payload',
        '.payload.items',
        '.body',
        '.body.data',
        '.response',
        '.rows',
        '.content',
        '.content[0]',
        '.hits',
        '.hits.hits',
      ];
      keys.forEach((k) =>
        step(sh(`jq '${k} | type' dump.json`, k.startsWith('.hits') ? '"object"' : '"null"')),
      );
      step(sh("jq '.hits.hits | length' dump.json", '512'));
    },
  ),
];
