import type { Trace } from '../trace.ts';
import { find, grep, honest, nth, sh, times } from './build.ts';

const MODULES = [
  'auth',
  'billing',
  'invoice',
  'profile',
  'search',
  'audit',
  'export',
  'import',
  'notify',
  'quota',
  'session',
  'team',
  'token',
  'upload',
  'webhook',
  'admin',
  'report',
  'trial',
  'coupon',
  'address',
  'avatar',
  'consent',
];
const tsModule = (m: string): string =>
  `import { UserRecord } from '../model/user-record';\n\nexport async function load${m[0]?.toUpperCase()}${m.slice(1)}(id: string): Promise<UserRecord | null> {\n  const row = await db.one('select * from ${m} where user_id = $1', [id]);\n  return row === null ? null : fromRow(row);\n}\n`;
const PY = [
  'core/clock',
  'core/config',
  'core/errors',
  'core/log',
  'core/paths',
  'io/reader',
  'io/writer',
  'io/parquet',
  'io/csv',
  'io/s3',
  'model/tree',
  'model/leaf',
  'model/split',
  'model/score',
  'train/loop',
  'train/loss',
  'train/sched',
  'train/ckpt',
  'serve/app',
  'serve/routes',
  'serve/health',
  'cli/main',
  'cli/args',
  'cli/fmt',
  'tests/conftest',
  'tests/test_tree',
  'tests/test_io',
  'tests/test_cli',
];
const GO = [
  'accounts',
  'ledger',
  'cards',
  'limits',
  'fx',
  'payouts',
  'refunds',
  'disputes',
  'kyc',
  'mail',
  'events',
  'search',
];
const OLD_HEAD = '# Copyright 2023 Nordlicht GmbH\n# All rights reserved.\n';
const NEW_HEAD = '# SPDX-FileCopyrightText: 2026 Nordlicht GmbH\n# SPDX-License-Identifier: Apache-2.0\n';

const goFile = (p: string): string =>
  `package ${p}\n\nimport "database/sql"\n\nfunc Get(db *sql.DB, id int64) (*Row, error) {\n\treturn scan(db.QueryRow("select * from ${p} where id = $1", id))\n}\n\nfunc List(db *sql.DB) ([]Row, error) {\n\trows, err := db.Query("select * from ${p}")\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\treturn scanAll(rows)\n}\n`;
const tscErrors = (n: number): string =>
  times(
    Math.min(n, 6),
    (i) => `src/${nth(MODULES, i + n)}.ts(${i * 9 + 4},12): error TS2532: Object is possibly 'undefined'.`,
  ).join('\n') + (n > 0 ? `\nFound ${n} errors.` : '');

export const refactor: Trace[] = [
  honest(
    'renames UserRecord to Account in 22 files, then fixes the import path in a second pass over the same files',
    (w, step) => {
      step(
        grep(
          'UserRecord',
          'src',
          ...MODULES.map((m) => `src/services/${m}.ts:1: import { UserRecord } from '../model/user-record';`),
        ),
      );
      step(w.read('src/services/auth.ts'));
      for (const m of MODULES) step(w.edit(`src/services/${m}.ts`, 'UserRecord', 'Account', true));
      step(
        sh(
          'npx tsc --noEmit',
          `src/services/auth.ts(1,10): error TS2305: Module '"../model/user-record"' has no exported member 'Account'.\nFound 22 errors.`,
          2,
        ),
      );
      step(
        sh(
          'git mv src/model/user-record.ts src/model/account.ts && sed -i s/UserRecord/Account/ src/model/account.ts',
        ),
      );
      for (const m of MODULES)
        step(w.edit(`src/services/${m}.ts`, "'../model/user-record'", "'../model/account'"));
      step(
        sh('npx tsc --noEmit'),
        sh('npm test', ' Test Files  31 passed (31)\n      Tests  212 passed (212)'),
      );
    },
    Object.fromEntries(MODULES.map((m) => [`src/services/${m}.ts`, tsModule(m)])),
  ),

  honest(
    'replaces the licence header in 28 Python files with the very same edit',
    (w, step) => {
      step(grep('Copyright 2023', '.', ...PY.map((p) => `${p}.py:1: # Copyright 2023 Nordlicht GmbH`)));
      for (const p of PY) step(w.edit(`${p}.py`, OLD_HEAD, NEW_HEAD));
      step(grep('Copyright 2023', '.'));
      step(
        sh(
          'reuse lint',
          'Congratulations! Your project is compliant with version 3.3 of the REUSE Specification :-)',
        ),
      );
    },
    Object.fromEntries(PY.map((p) => [`${p}.py`, `${OLD_HEAD}\n"""${p}."""\n`])),
  ),

  honest(
    'threads context.Context through 12 Go packages, Get first, List second, with go vet after each',
    (w, step) => {
      step(
        find('internal/*/store.go', ...GO.map((p) => `internal/${p}/store.go`)),
        w.read('internal/accounts/store.go'),
      );
      GO.forEach((p, i) => {
        step(
          w.edits(`internal/${p}/store.go`, [
            ['func Get(db *sql.DB, id', 'func Get(ctx context.Context, db *sql.DB, id'],
            ['db.QueryRow("', 'db.QueryRowContext(ctx, "'],
            ['import "database/sql"', 'import (\n\t"context"\n\t"database/sql"\n)'],
          ]),
        );
        step(
          sh(
            'go vet ./...',
            '',
            1,
            `# bank/cmd/api\ncmd/api/main.go:${40 + i}:22: not enough arguments in call to ${p}.Get`,
          ),
        );
      });
      GO.forEach((p) => {
        step(
          w.edits(`internal/${p}/store.go`, [
            ['func List(db', 'func List(ctx context.Context, db'],
            ['db.Query("', 'db.QueryContext(ctx, "'],
          ]),
        );
      });
      step(sh(`gofmt -r 'Get(a, b) -> Get(ctx, a, b)' -w cmd/`));
      step(sh('go vet ./...', '', 1, '# bank/cmd/api\ncmd/api/list.go:17:9: undefined: ctx'));
      step(
        sh("sed -i 's/List(db)/List(r.Context(), db)/' cmd/api/list.go"),
        sh('go vet ./...'),
        sh('go test ./...', GO.map((p, i) => `ok  \tbank/internal/${p}\t0.${i + 11}s`).join('\n')),
      );
    },
    Object.fromEntries(GO.map((p) => [`internal/${p}/store.go`, goFile(p)])),
  ),

  honest(
    'turns on strictNullChecks and works the count of errors down, coming back to types.ts twelve times',
    (w, step) => {
      const counts = [57, 57, 52, 49, 49, 49, 38, 31, 31, 22, 15, 9];
      step(sh('sed -i \'s/"strict": false/"strict": true/\' tsconfig.json'));
      counts.forEach((n, i) => {
        step(sh('npx tsc --noEmit', tscErrors(n), 2));
        step(w.edit('src/types.ts', `  field${i}: string;`, `  field${i}?: string | undefined;`));
        if (i % 3 === 1)
          step(
            w.edit('src/read.ts', `const f${i} = row.field${i};`, `const f${i} = row.field${i} ?? '';`),
            w.read('src/types.ts'),
          );
      });
      step(sh('npx tsc --noEmit', tscErrors(1), 2));
      step(w.edit('src/read.ts', 'const f0 = row.field0;', "const f0 = row.field0 ?? 'none';"));
      step(sh('npx tsc --noEmit'));
    },
    {
      'src/types.ts': `export interface Row {\n${times(12, (i) => `  field${i}: string;`).join('\n')}\n}\n`,
      'src/read.ts': times(12, (i) => `const f${i} = row.field${i};`).join('\n'),
    },
  ),

  honest('creates nine files of a new package and then edits each of them once', (w, step) => {
    const parts = ['index', 'parse', 'print', 'scan', 'token', 'ast', 'visit', 'error', 'util'];
    for (const p of parts)
      step(
        w.write(
          `packages/query/src/${p}.ts`,
          `/** ${p} of the query language. */\nexport const ${p} = (input: string) => {\n  throw new Error('not yet');\n};\n`,
        ),
      );
    step(sh('npm run build -w packages/query', '> tsc -b\n'));
    for (const p of parts)
      step(
        w.edit(`packages/query/src/${p}.ts`, "  throw new Error('not yet');", `  return run('${p}', input);`),
      );
    step(
      sh('npm run build -w packages/query', "src/util.ts(3,10): error TS2304: Cannot find name 'run'.", 2),
    );
    step(w.edit('packages/query/src/util.ts', "  return run('util', input);", '  return input.trim();'));
    step(
      sh('npm run build -w packages/query', '> tsc -b\n'),
      sh('npm test -w packages/query', 'Tests  18 passed (18)'),
    );
  }),
];
