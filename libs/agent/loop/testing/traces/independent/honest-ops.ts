import type { Trace } from '../trace.ts';
import { honest, nth, sh, times, took } from './build.ts';

const MIGRATION =
  'create table invoices (\n  id bigserial primary key,\n  order_id bigint not null,\n  total numeric not null\n);\n';
const DOCKER =
  'FROM python:3.13-slim\nRUN pip install -r requirements.txt\nCOPY . /app\nCMD ["gunicorn", "app:app"]\n';
const PINS: readonly (readonly [string, string])[] = [
  ['numpy==2.3.1', 'numba 0.59 requires numpy<1.27'],
  ['numpy==1.26.4', 'pandas 3.0 requires numpy>=2.0'],
  ['pandas==2.2.3', 'pyarrow 14 is incompatible with pandas>=2.2'],
  ['pyarrow==17.0.0', 'numba 0.59 requires numpy<1.27'],
  ['numba==0.61.2', ''],
];

export const ops: Trace[] = [
  honest('bisects a regression in eleven steps, the same test command at each', (_w, step) => {
    step(
      sh(
        'git bisect start v3.2 v3.0',
        'Bisecting: 2047 revisions left to test after this (roughly 11 steps)',
      ),
    );
    times(11, (i) => {
      const bad = [true, true, false, true, false, false, true, true, true, false, true][i] ?? true;
      step(sh('make -s bench-parse', bad ? 'parse: 812 ms' : 'parse: 204 ms'));
      step(
        sh(
          `git bisect ${bad ? 'bad' : 'good'}`,
          `Bisecting: ${2 ** (10 - i) - 1} revisions left to test after this (roughly ${10 - i} steps)`,
        ),
      );
    });
    step(
      sh('git bisect log | tail -1', '# first bad commit: [7c0ffee] parse: keep comments'),
      sh('git bisect reset', "Switched to branch 'main'"),
    );
  }),

  honest('runs a migration down and up again after each of six changes to it', (w, step) => {
    step(
      w.write('migrations/0042_invoices.up.sql', MIGRATION),
      w.write('migrations/0042_invoices.down.sql', 'drop table invoices;\n'),
    );
    step(sh('migrate up 1', '42/u invoices (11.2ms)'));
    const cols = [
      'currency char(3) not null',
      'issued_at timestamptz not null',
      'paid_at timestamptz',
      'vat numeric not null default 0',
      'note text',
      'number text unique',
    ];
    for (const c of cols) {
      step(w.edit('migrations/0042_invoices.up.sql', '\n);\n', `,\n  ${c}\n);\n`));
      step(sh('migrate down 1', '42/d invoices (6.1ms)'), sh('migrate up 1', '42/u invoices (11.9ms)'));
      step(
        sh(
          'go test ./store',
          c.startsWith('number')
            ? 'ok  \tshop/store\t0.9s'
            : '--- FAIL: TestInvoice (0.01s)\n    store_test.go:31: column does not exist\nFAIL',
          c.startsWith('number') ? 0 : 1,
        ),
      );
    }
  }),

  honest('retries a broken download with other flags until it comes down whole', (_w, step) => {
    const url = 'https://data.example.org/era5/2024.tar.zst';
    const eof = 'curl: (18) transfer closed with 8123371 bytes remaining to read';
    times(3, () => step(sh(`curl -fLO ${url}`, '', 18, eof)));
    for (const flags of [
      '-C -',
      '-C - --retry 5',
      '-C - --http1.1',
      '-C - --http1.1 --limit-rate 2M',
      '--parallel -C - --http1.1',
    ])
      step(sh(`curl -fLO ${flags} ${url}`, '', 18, eof));
    step(
      sh(`aria2c -x4 -c ${url}`, '', 22, 'errorCode=22 The response status is not successful. status=503'),
    );
    step(
      sh(`sleep 60; aria2c -x4 -c ${url}`, 'Download complete: 2024.tar.zst'),
      sh('sha256sum -c 2024.sha256', '2024.tar.zst: OK'),
    );
  }),

  honest(
    'untangles a version conflict: five pins, pip check after each, two of the complaints alike',
    (w, step) => {
      step(w.read('requirements.txt'), sh('pip check', 'numba 0.59 requires numpy<1.27', 1));
      for (const [pin, says] of PINS) {
        const name = pin.split('==')[0] ?? '';
        const line =
          w
            .get('requirements.txt')
            .split('\n')
            .find((l) => l.startsWith(`${name}=`)) ?? '';
        step(w.edit('requirements.txt', line, pin.startsWith('numba') ? pin : `${pin}  # pinned`));
        step(
          sh(
            'pip install -qr requirements.txt && pip check',
            says === '' ? 'No broken requirements found.' : says,
            says === '' ? 0 : 1,
          ),
        );
      }
      step(sh('pytest -q', `402 passed in ${took(4, 31)}`));
    },
    { 'requirements.txt': 'numpy==2.0.0\npandas==3.0.0\npyarrow==14.0.0\nnumba==0.59.0\n' },
  ),

  honest('rebases a branch with nine conflicts: the same three commands for each commit', (w, step) => {
    step(
      sh(
        'git rebase main',
        'CONFLICT (content): Merge conflict in src/app.ts\nerror: could not apply 00a1',
        1,
      ),
    );
    times(9, (i) => {
      const ours = `const limit = ${10 + i};\n`;
      w.set('src/app.ts', `<<<<<<< HEAD\n${ours}=======\nconst limit = ${20 + i};\n>>>>>>> step ${i}\n`);
      step(w.read('src/app.ts'), sh('git status --short', 'UU src/app.ts'));
      step(w.write('src/app.ts', `const limit = ${20 + i};\n`));
      step(
        sh(
          'git add src/app.ts && GIT_EDITOR=true git rebase --continue',
          i < 8
            ? 'CONFLICT (content): Merge conflict in src/app.ts'
            : 'Successfully rebased and updated refs/heads/limits.',
          i < 8 ? 1 : 0,
        ),
      );
    });
    step(sh('npm test', 'Tests: 61 passed, 61 total'));
  }),

  honest('gets a container to build: one docker build command, seven failures that look alike', (w, step) => {
    const fixes = [
      'apt-get update',
      'apt-get install -y gcc',
      'apt-get install -y libpq-dev',
      'apt-get install -y rustc',
      'pip install -U pip',
      'mkdir -p /app/static',
      'useradd -r app',
    ];
    step(w.write('Dockerfile', DOCKER));
    fixes.forEach((f, i) => {
      step(
        sh(
          'docker build -t shop .',
          `ERROR: failed to solve: process "/bin/sh -c pip install -r requirements.txt" did not complete successfully: exit code: 1`,
          1,
        ),
        sh(
          'docker build --progress=plain -t shop . 2>&1 | tail -2',
          nth(
            [
              'E: no list',
              'gcc: not found',
              'pg_config: not found',
              'rustc: not found',
              'old pip',
              'no static',
              'no user',
            ],
            i,
          ),
        ),
      );
      step(w.edit('Dockerfile', 'RUN pip install -r', `RUN ${f}\nRUN pip install -r`));
    });
    step(
      sh('docker build -t shop .', 'naming to docker.io/library/shop done'),
      sh('docker run --rm shop python -c "import app"'),
    );
  }),
];
