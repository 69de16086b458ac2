import type { Trace } from '../trace.ts';
import { honest, nth, sh, times, took } from './build.ts';

const BATCH = [64, 256, 1024, 256];
const LINT = [
  'no-unused-vars',
  'prefer-const',
  'eqeqeq',
  'no-shadow',
  'import/order',
  'no-floating-promises',
  'curly',
];
const CELLS = [
  'df = pd.read_parquet("trips.parquet")',
  'df = df[df.km > 0]',
  'df["speed"] = df.km / df.h',
  'df.speed.describe()',
  'df = df[df.speed < 130]',
  'by = df.groupby("zone").speed.median()',
  'by.sort_values().tail(10)',
  'model = fit(df, ["km", "hour"])',
  'model.score(test)',
  'model = fit(df, ["km", "hour", "zone"])',
  'model.score(test)',
  'plot(model.residuals)',
];
const queue = (n: number): string =>
  `pub const BATCH: usize = ${n};\n\npub fn drain(q: &mut Queue) -> Vec<Job> {\n    q.take(BATCH)\n}\n`;

export const tuning: Trace[] = [
  honest(
    'tries four values of a constant with a benchmark after each and settles on one it had before',
    (w, step) => {
      step(w.read('src/queue.rs'), sh('cargo bench -q drain', 'drain  time: [41.2 µs]'));
      let now = 32;
      for (const [i, n] of BATCH.entries()) {
        step(w.edit('src/queue.rs', `BATCH: usize = ${now};`, `BATCH: usize = ${n};`));
        step(sh('cargo bench -q drain', `drain  time: [${[33.0, 24.4, 29.8, 24.1][i]} µs]`));
        now = n;
      }
      step(sh('cargo test -q', 'test result: ok. 44 passed'), sh('git commit -qam "batch of 256"'));
    },
    { 'src/queue.rs': queue(32) },
  ),

  honest(
    'compares two settings fairly: A, B, A, B, A, B with a noisy benchmark each, then keeps B',
    (w, step) => {
      step(sh('./bench.sh', 'p99 18.1 ms'));
      times(6, (i) => {
        step(
          i % 2 === 0
            ? w.edit('conf/jvm.options', '-XX:+UseG1GC', '-XX:+UseZGC')
            : w.edit('conf/jvm.options', '-XX:+UseZGC', '-XX:+UseG1GC'),
        );
        step(
          sh('./bench.sh', `p99 ${i % 2 === 0 ? (7 + i * 0.13).toFixed(1) : (18 + i * 0.21).toFixed(1)} ms`),
        );
      });
      step(
        w.edit('conf/jvm.options', '-XX:+UseG1GC', '-XX:+UseZGC'),
        w.write('manual/gc.md', 'ZGC: p99 7 ms, three runs. G1: 18 ms, four runs.\n'),
      );
    },
    { 'conf/jvm.options': '-Xmx4g\n-XX:+UseG1GC\n' },
  ),

  honest('sweeps a learning rate over eight values, writing the config anew for each run', (w, step) => {
    for (const [i, lr] of [0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.003, 0.005].entries()) {
      step(w.write('conf.yaml', `model: resnet18\nepochs: 5\nlr: ${lr}\n`));
      step(
        sh(
          'python train.py conf.yaml | tail -1',
          `val_acc ${[0.1, 0.61, 0.82, 0.88, 0.84, 0.71, 0.87, 0.88][i]}`,
        ),
      );
    }
    step(w.write('conf.yaml', 'model: resnet18\nepochs: 90\nlr: 0.003\n'));
  }),

  honest(
    'has a bad idea, takes it back with git checkout, and does it otherwise',
    (w, step) => {
      const plain = w.get('lru.py');
      step(w.read('lru.py'));
      step(w.edit('lru.py', 'self.items = {}', 'self.items = WeakValueDictionary()'));
      step(sh('pytest -q', '7 failed, 30 passed', 1));
      step(w.edit('lru.py', 'def get(self, key):', 'def get(self, key, strong=True):'));
      step(sh('pytest -q', '9 failed, 28 passed', 1));
      w.set('lru.py', plain);
      step(sh('git checkout lru.py', 'Updated 1 path from the index'), w.read('lru.py'));
      step(w.edit('lru.py', 'self.items = {}', 'self.items = OrderedDict()'));
      step(sh('pytest -q', '37 passed'));
    },
    {
      'lru.py':
        'class Lru:\n    def __init__(self):\n        self.items = {}\n\n    def get(self, key):\n        return self.items[key]\n',
    },
  ),

  honest(
    'edits, edits back because of a slow query, adds an index and makes the edit again',
    (w, step) => {
      const a = 'where lower(email) = lower($1)';
      const b = 'where email = $1';
      step(w.edit('q/user.sql', b, a), sh('psql -f explain.sql | grep Time', 'Execution Time: 912.4 ms'));
      step(w.edit('q/user.sql', a, b), sh('psql -f explain.sql | grep Time', 'Execution Time: 0.3 ms'));
      step(
        w.write('migrations/0019.sql', 'create index users_email_ci on users (lower(email));\n'),
        sh('psql -qf migrations/0019.sql'),
      );
      step(w.edit('q/user.sql', b, a), sh('psql -f explain.sql | grep Time', 'Execution Time: 0.4 ms'));
      step(sh('npm test', 'Tests: 90 passed'));
    },
    { 'q/user.sql': 'select * from users\nwhere email = $1;\n' },
  ),

  honest(
    'goes back and forth with a formatter that undoes its line breaks, twice, then changes the formatter settings',
    (w, step) => {
      const long = 'const url = new URL(`/v2/${tenant}/orders?state=${state}&page=${page}`, base);\n';
      const broken = 'const url = new URL(\n  `/v2/${tenant}/orders?state=${state}&page=${page}`, base);\n';
      times(2, () => {
        step(w.edit('src/url.ts', long, broken));
        step(sh('npx eslint src', 'src/url.ts 1:1 error max-len', 1));
        w.set('src/url.ts', long);
        step(sh('npx prettier -w src', 'src/url.ts 31ms'), w.read('src/url.ts'));
      });
      step(
        w.edit('.prettierrc', '"printWidth": 100', '"printWidth": 80'),
        sh('npx prettier -w src', 'src/url.ts 30ms'),
        sh('npx eslint src'),
      );
    },
    {
      'src/url.ts': 'const url = new URL(`/v2/${tenant}/orders?state=${state}&page=${page}`, base);\n',
      '.prettierrc': '{ "printWidth": 100 }\n',
    },
  ),

  honest(
    'cleans up lint rule by rule with lint --fix and the tests after each',
    (w, step) => {
      LINT.forEach((rule, i) => {
        step(w.edit('eslint.config.js', '  // next\n', `  '${rule}': 'error',\n  // next\n`));
        step(
          sh(
            'npx eslint . --fix',
            i % 2 === 0 ? `✖ ${i + 1} problems (${i + 1} errors, 0 warnings)` : '',
            i % 2 === 0 ? 1 : 0,
          ),
        );
        if (i % 2 === 0)
          step(w.edit('src/main.js', `/* ${rule} */`, `handle(${i});`), sh('npx eslint . --fix'));
        step(sh('npm test --silent', 'pass 77\nfail 0'));
      });
      step(sh('git diff --stat | tail -1', ' 41 files changed, 388 insertions(+), 402 deletions(-)'));
    },
    {
      'eslint.config.js': 'export default [{ rules: {\n  // next\n} }];\n',
      'src/main.js': LINT.map((r) => `/* ${r} */`).join('\n'),
    },
  ),

  honest('works like in a notebook: adds a cell, runs the whole script, looks, adds the next', (w, step) => {
    step(w.write('explore.py', 'import pandas as pd\n\n# %%\n'));
    CELLS.forEach((c, i) => {
      step(w.append('explore.py', `${c}\n\n# %%\n`));
      step(
        sh(
          'ipython explore.py',
          i < 3
            ? ''
            : i === 8
              ? '0.71'
              : i === 10
                ? '0.83'
                : `count ${104812 - (i > 3 ? 911 : 0)}\nmedian ${(21 + i * 0.4).toFixed(1)}`,
        ),
      );
    });
    step(sh('jupytext --to ipynb explore.py', '[jupytext] Writing explore.ipynb'));
  }),

  honest(
    'nudges a picture position by pixels: nine tiny edits of the same line, a render after each',
    (w, step) => {
      const xs = [40, 48, 56, 52, 50, 49, 50, 51, 50];
      let last = 32;
      for (const x of xs) {
        step(w.edit('poster.svg', `x="${last}"`, `x="${x}"`));
        step(
          sh('resvg poster.svg poster.png', ''),
          sh(
            'compare -metric AE poster.png wanted.png null:',
            '',
            x === 50 ? 0 : 1,
            `${Math.abs(x - 50) * 310}`,
          ),
        );
        last = x;
      }
    },
    { 'poster.svg': '<svg><image x="32" y="10" href="logo.png"/></svg>\n' },
  ),

  honest('optimises a query: seven rewritings of the same file, explain analyse after each', (w, step) => {
    const forms = [
      'select * from orders where state in (select state from open_states)',
      'select o.* from orders o join open_states using (state)',
      'select o.* from orders o where exists (select 1 from open_states s where s.state = o.state)',
      "select * from orders where state = any (array['new', 'paid'])",
      "select id, state from orders where state = any (array['new', 'paid'])",
      "select id, state from orders where state in ('new', 'paid') order by id",
      "select id, state from orders where state in ('new', 'paid') order by id limit 500",
    ];
    forms.forEach((f, i) => {
      step(w.write('sql/open.sql', `explain analyze\n${f};\n`));
      step(
        sh(
          'psql -f sql/open.sql | tail -2',
          ` Planning Time: 0.${i + 1} ms\n Execution Time: ${nth([910, 644, 655, 212, 95, 97, 1.2], i)} ms`,
        ),
      );
    });
    step(sh('pytest -q tests/sql', `14 passed in ${took(2, 4)}`));
  }),
];
