import type { Trace } from '../trace.ts';
import { delegate, grep, honest, sh, times, took } from './build.ts';

const bigTs = (n: number): string =>
  times(
    n,
    (i) =>
      `  case 'op${i}': {\n    const value${i} = legacyDecode(buf, ${i * 4});\n    return apply(state, value${i});\n  }`,
  ).join('\n');
export const refactorMore: Trace[] = [
  honest(
    'makes 14 edits of one big switch file in a single answer, and the other 14 in the next',
    (w, step) => {
      step(w.read('src/vm/dispatch.ts'));
      for (const half of [0, 14]) {
        step(
          ...times(14, (i) =>
            w.edit(
              'src/vm/dispatch.ts',
              `legacyDecode(buf, ${(i + half) * 4});`,
              `decodeU32(view, ${(i + half) * 4});`,
            ),
          ),
        );
        step(
          sh(
            'npx tsc --noEmit && npx vitest run test/vm',
            half === 0 ? 'test/vm/mixed.test.ts  2 failed | 40 passed' : '42 passed',
            half === 0 ? 1 : 0,
          ),
        );
      }
      step(
        grep('legacyDecode', 'src'),
        sh(
          'git diff --stat',
          ' src/vm/dispatch.ts | 56 ++++++++++++++--------------\n 1 file changed, 28 insertions(+), 28 deletions(-)',
        ),
      );
    },
    { 'src/vm/dispatch.ts': `switch (op) {\n${bigTs(28)}\n}\n` },
  ),

  honest(
    'fixes the same borrow-checker error in six places of a Rust crate, one at a time',
    (w, step) => {
      const err = (i: number): string =>
        `error[E0502]: cannot borrow \`*self\` as mutable because it is also borrowed as immutable\n  --> src/grid.rs:${31 + i * 12}:13\nerror: could not compile \`life\` (lib) due to 1 previous error`;
      step(w.read('src/grid.rs'));
      times(6, (i) => {
        step(sh('cargo check 2>&1 | tail -3', err(i), 101));
        step(
          w.edit(
            'src/grid.rs',
            `let cell_${i} = &self.cells[${i}];`,
            `let cell_${i} = self.cells[${i}].clone();`,
          ),
        );
      });
      step(
        sh(
          'cargo check 2>&1 | tail -3',
          '    Finished `dev` profile [unoptimized + debuginfo] target(s) in 0.61s',
        ),
        sh('cargo test', 'test result: ok. 23 passed; 0 failed'),
      );
    },
    {
      'src/grid.rs': times(
        6,
        (i) =>
          `fn step_${i}(&mut self) {\n    let cell_${i} = &self.cells[${i}];\n    self.touch(cell_${i});\n}`,
      ).join('\n\n'),
    },
  ),

  honest(
    'fixes one and the same message, without line numbers, five times before the build is green',
    (w, step) => {
      const files = ['Cart', 'Order', 'Price', 'Stock', 'Voucher'];
      for (const f of files) {
        step(
          sh(
            './gradlew compileKotlin -q',
            '',
            1,
            "e: Unresolved reference 'BigDecimalX'.\nFAILURE: Build failed with an exception.",
          ),
        );
        step(
          grep(
            'BigDecimalX',
            'src/main/kotlin',
            ...files
              .slice(files.indexOf(f))
              .map((g) => `src/main/kotlin/shop/${g}.kt: import shop.math.BigDecimalX`),
          ),
        );
        step(
          w.edit(
            `src/main/kotlin/shop/${f}.kt`,
            'import shop.math.BigDecimalX\n',
            'import java.math.BigDecimal\n',
          ),
        );
      }
      step(sh('./gradlew compileKotlin -q'), sh('./gradlew test -q'));
    },
    Object.fromEntries(
      ['Cart', 'Order', 'Price', 'Stock', 'Voucher'].map((f) => [
        `src/main/kotlin/shop/${f}.kt`,
        `package shop\n\nimport shop.math.BigDecimalX\n\nclass ${f}\n`,
      ]),
    ),
  ),

  honest(
    'splits a 900-line Python module: writes ten new files and cuts each part out of the old one',
    (w, step) => {
      step(w.read('app/views.py', 1, 30), w.read('app/views.py', 31, 30));
      times(10, (i) => {
        const part = `def view_${i}(request):\n    form = Form${i}(request.POST)\n    return render(request, "v${i}.html", {"form": form})\n\n\n`;
        step(
          w.write(`app/views/view_${i}.py`, `from app.render import render\n\n\n${part}`),
          w.edit('app/views.py', part, ''),
        );
        step(sh('python -m pytest -q', `48 passed in ${took(i, 3.1)}`));
      });
      step(
        sh('git rm app/views.py'),
        w.write('app/views/__init__.py', times(10, (i) => `from .view_${i} import view_${i}`).join('\n')),
        sh('python -m pytest -q', '48 passed in 3.20s'),
      );
    },
    {
      'app/views.py': times(
        10,
        (i) =>
          `def view_${i}(request):\n    form = Form${i}(request.POST)\n    return render(request, "v${i}.html", {"form": form})\n\n\n`,
      ).join(''),
    },
  ),

  honest(
    'renames a symbol wrongly in three files, renames it back, and then renames it rightly',
    (w, step) => {
      const files = ['api/handlers.py', 'api/serializers.py', 'api/urls.py'];
      step(grep('get_items', 'api', ...files.map((f) => `${f}:3: get_items`)));
      for (const f of files) step(w.edit(f, 'get_items', 'list_items'));
      step(
        sh(
          'pytest -q api',
          "E   AttributeError: module 'api.legacy' has no attribute 'list_items'\n6 failed, 31 passed",
          1,
        ),
      );
      step(
        delegate(
          'reviewer',
          'Is list_items already taken in api.legacy?',
          'Yes, with another meaning: it lists archived items. Choose another name.',
        ),
      );
      for (const f of files) step(w.edit(f, 'list_items', 'get_items'));
      step(sh('pytest -q api', '37 passed in 0.91s'));
      for (const f of files) step(w.edit(f, 'get_items', 'fetch_items'));
      step(
        sh('pytest -q api', '37 passed in 0.94s'),
        sh('git status --short', files.map((f) => ` M ${f}`).join('\n')),
      );
    },
    Object.fromEntries(
      ['api/handlers.py', 'api/serializers.py', 'api/urls.py'].map((f) => [
        f,
        `# ${f}\n\nfrom api.store import get_items\n`,
      ]),
    ),
  ),
];
