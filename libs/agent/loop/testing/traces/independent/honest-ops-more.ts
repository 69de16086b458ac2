import type { Trace } from '../trace.ts';
import { browser, fetchUrl, honest, list, output, sh, start, stop, times } from './build.ts';

export const opsMore: Trace[] = [
  honest(
    'restarts the same server after every one of ten edits and asks the same endpoint',
    (w, step) => {
      step(w.read('server.js'));
      times(10, (i) => {
        step(
          w.edit('server.js', `  // route ${i}\n`, `  app.get('/r${i}', (q, s) => s.json({ n: ${i} }));\n`),
        );
        step(start('node server.js', `n${i}`));
        step(
          sh('sleep 1; curl -s localhost:3000/routes', JSON.stringify(times(i + 1, (k) => `/r${k}`))),
          stop(`n${i}`),
        );
      });
    },
    { 'server.js': `export function routes(app) {\n${times(10, (i) => `  // route ${i}\n`).join('')}}\n` },
  ),

  honest(
    'frees a port: starts, finds it taken, looks, kills, starts again; three times until the supervisor is found',
    (w, step) => {
      times(3, (i) => {
        step(start('npm start', `a${i}`));
        step(output(`a${i}`, 'Error: listen EADDRINUSE: address already in use :::3000\n', false, 1));
        step(sh('lsof -ti :3000', `${4100 + i}`), sh('kill $(lsof -ti :3000)'));
      });
      step(
        sh('pgrep -af nodemon', '4099 nodemon server.js'),
        sh('kill 4099'),
        start('npm start', 'a9'),
        output('a9', 'listening on 3000\n'),
      );
      step(w.edit('package.json', '"nodemon server.js"', '"node --watch server.js"'));
    },
    { 'package.json': '{ "scripts": { "start": "nodemon server.js" } }\n' },
  ),

  honest(
    'adjusts a layout in the browser: the same page is navigated to and shot after each of nine CSS edits',
    (w, step) => {
      const at = { url: 'http://localhost:5173/cart' };
      step(browser('navigate', at, 'Cart'), browser('take_screenshot', {}, 'image 1280x800'));
      times(9, (i) => {
        step(
          w.edit(
            'src/cart.css',
            `/* ${i} */`,
            `.cart > :nth-child(${i + 1}) { margin-block: ${4 + i * 2}px; }`,
          ),
        );
        step(browser('navigate', at, 'Cart'), browser('take_screenshot', {}, 'image 1280x800'));
        if (i % 3 === 0) step(browser('console_messages', {}, ''));
      });
    },
    { 'src/cart.css': times(9, (i) => `/* ${i} */`).join('\n') },
  ),

  honest('clicks through a wizard of fifteen pages with the same Next button', (_w, step) => {
    step(browser('navigate', { url: 'https://staging.acme.dev/onboarding' }, 'Step 1 of 15'));
    times(14, (i) =>
      step(
        browser('click', { element: 'Next', ref: 'e41' }, 'clicked'),
        browser('snapshot', {}, `Step ${i + 2} of 15`),
      ),
    );
    step(browser('click', { element: 'Finish', ref: 'e44' }, 'Welcome, staging user'));
  }),

  honest(
    'hunts a memory leak: the same load and the same metrics line after it, before and after two fixes',
    (w, step) => {
      const rss = [
        [210, 260, 311, 362, 410],
        [208, 240, 271, 305, 333],
        [207, 209, 208, 209, 208],
      ];
      rss.forEach((run, i) => {
        for (const mb of run)
          step(
            sh(
              'hey -n 20000 http://localhost:9100/ > /dev/null; curl -s localhost:9100/metrics | grep resident',
              `process_resident_memory_mb ${mb}`,
            ),
          );
        if (i < 2)
          step(
            w.read('cache.go'),
            w.edit('cache.go', `// evict ${i}`, i === 0 ? 'delete(c.byKey, oldest)' : 'c.order.Remove(el)'),
          );
        if (i < 2) step(sh('systemctl --user restart proxy'));
      });
    },
    { 'cache.go': 'func (c *Cache) Put(k string) {\n\t// evict 0\n\t// evict 1\n}\n' },
  ),

  honest(
    'publishes: dry run, fix of the manifest, dry run again, five times, then for real',
    (w, step) => {
      const wants = ['description', 'license', 'repository', 'readme', 'keywords'];
      for (const k of wants) {
        step(
          sh('cargo publish --dry-run', '', 101, `error: 1 file or field is missing or wrong in Cargo.toml`),
        );
        step(
          w.edit(
            'Cargo.toml',
            '[dependencies]',
            `${k} = "${k === 'license' ? 'MIT' : `the ${k} of ringlet`}"\n\n[dependencies]`,
          ),
        );
      }
      step(
        sh('cargo publish --dry-run', 'warning: aborting upload due to dry run'),
        list('target/package', 'ringlet-0.3.0.crate'),
      );
      step(
        sh('cargo publish', 'Published ringlet v0.3.0'),
        fetchUrl('https://docs.rs/ringlet/0.3.0', 404, 'not built yet'),
        sh('sleep 60'),
        fetchUrl('https://docs.rs/ringlet/0.3.0', 404, 'not built yet'),
        sh('sleep 60'),
        fetchUrl('https://docs.rs/ringlet/0.3.0', 200, 'ringlet 0.3.0'),
      );
    },
    { 'Cargo.toml': '[package]\nname = "ringlet"\nversion = "0.3.0"\n\n[dependencies]\n' },
  ),
];
