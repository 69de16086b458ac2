import type { Trace } from '../trace.ts';
import { grep, honest, nth, sh, times, took } from './build.ts';

const KEYS = [
  'nav.home',
  'nav.orders',
  'nav.stock',
  'nav.people',
  'nav.settings',
  'login.title',
  'login.user',
  'login.password',
  'login.submit',
  'login.forgot',
  'order.new',
  'order.edit',
  'order.delete',
  'order.confirm',
  'order.total',
  'order.date',
  'order.state',
  'stock.low',
  'stock.out',
  'stock.refill',
  'people.invite',
  'people.remove',
  'people.role',
  'error.generic',
  'error.network',
  'error.denied',
  'button.ok',
  'button.cancel',
  'button.save',
  'button.back',
];
const DE = [
  'Start',
  'Bestellungen',
  'Lager',
  'Personen',
  'Einstellungen',
  'Anmelden',
  'Benutzer',
  'Kennwort',
  'Weiter',
  'Kennwort vergessen?',
  'Neue Bestellung',
  'Bestellung ändern',
  'Bestellung löschen',
  'Bestätigen',
  'Summe',
  'Datum',
  'Stand',
  'Fast leer',
  'Leer',
  'Auffüllen',
  'Einladen',
  'Entfernen',
  'Rolle',
  'Etwas ging schief',
  'Keine Verbindung',
  'Kein Zugriff',
  'OK',
  'Abbrechen',
  'Sichern',
  'Zurück',
];
const SECTIONS = [
  'Scope',
  'Terms',
  'Architecture',
  'Storage',
  'Protocol',
  'Handshake',
  'Framing',
  'Compression',
  'Errors',
  'Retries',
  'Security',
  'Keys',
  'Rotation',
  'Limits',
  'Metrics',
  'Deployment',
  'Upgrade',
  'Open questions',
];
const para = (s: string, i: number): string =>
  `## ${i + 1}. ${s}\n\nThis part says how ${s.toLowerCase()} works in release ${i + 2}. A node keeps at most ${(i + 3) * 16} entries,\nand drops the oldest first. See part ${((i * 5) % 18) + 1}.\n\n`;
const LANGS = ['de', 'fr', 'it', 'es', 'pt', 'nl', 'pl', 'cs', 'da', 'sv', 'fi', 'nb'];
const svc = (i: number, mem: number): string =>
  `    { "name": "svc-${i}", "memory": ${mem}, "port": ${9000 + i} }`;

export const writing: Trace[] = [
  honest(
    'writes a long specification in 18 parts with cat >>, looking at its length now and then',
    (w, step) => {
      step(w.write('manual/spec.md', '# Replication protocol\n\n'));
      SECTIONS.forEach((s, i) => {
        step(w.append('manual/spec.md', para(s, i)));
        if (i % 4 === 3) step(sh('wc -l manual/spec.md', `${(i + 1) * 5 + 2} manual/spec.md`));
      });
      step(w.read('manual/spec.md'), sh('npx markdownlint manual/spec.md'));
    },
  ),

  honest('writes a novel chapter by chapter, each appended by an edit at the same end marker', (w, step) => {
    step(w.write('book/lighthouse.md', '# The Lighthouse Keeper\n\n<!-- END -->\n'));
    times(16, (i) => {
      step(
        w.edit(
          'book/lighthouse.md',
          '<!-- END -->',
          `## Chapter ${i + 1}\n\n${nth(['Fog came in', 'The lamp went out', 'A boat arrived', 'Nobody answered'], i)} on the ${i + 3}th of ${nth(['March', 'April', 'May'], i)}. ${nth(['Ada', 'Tom', 'The keeper'], i)} counted ${i * 4 + 11} steps to the gallery.\n\n<!-- END -->`,
        ),
      );
      if (i % 5 === 4) step(w.read('book/lighthouse.md', 1 + i, 40));
    });
    step(
      w.edit('book/lighthouse.md', '\n<!-- END -->', ''),
      sh('wc -w book/lighthouse.md', '301 book/lighthouse.md'),
    );
  }),

  honest(
    'fills a German translation key by key, thirty edits of one file',
    (w, step) => {
      step(w.read('locales/en.json'), w.read('locales/de.json'));
      KEYS.forEach((k, i) => step(w.edit('locales/de.json', `"${k}": ""`, `"${k}": "${DE[i]}"`)));
      step(sh('node scripts/i18n-check.js de', 'de: 30/30'));
    },
    {
      'locales/en.json': `{\n${KEYS.map((k) => `  "${k}": "${k.split('.')[1]}"`).join(',\n')}\n}\n`,
      'locales/de.json': `{\n${KEYS.map((k) => `  "${k}": ""`).join(',\n')}\n}\n`,
    },
  ),

  honest(
    'adds the same untranslated key to twelve locale files and checks them',
    (w, step) => {
      for (const l of LANGS)
        step(w.edit(`locales/${l}.json`, '  "app": "Kiosk"\n', '  "app": "Kiosk",\n  "beta": "Beta"\n'));
      step(sh('node scripts/i18n-check.js', LANGS.map((l) => `${l}: ok`).join('\n')));
      for (const l of LANGS)
        step(
          w.edit(
            `locales/${l}.json`,
            '"beta": "Beta"',
            `"beta": "${l === 'fr' ? 'Bêta' : l === 'pl' ? 'Wersja beta' : 'Beta'} (${l})"`,
          ),
        );
      step(sh('node scripts/i18n-check.js', LANGS.map((l) => `${l}: ok`).join('\n')));
    },
    Object.fromEntries(LANGS.map((l) => [`locales/${l}.json`, '{\n  "app": "Kiosk"\n}\n'])),
  ),

  honest(
    'changes ten places of a big JSON file, five singly and five in one call',
    (w, step) => {
      step(w.read('infra/services.json', 1, 60));
      times(5, (i) =>
        step(
          w.edit('infra/services.json', svc(i * 20, 256), svc(i * 20, 512)),
          sh('jq -e . infra/services.json > /dev/null'),
        ),
      );
      step(
        w.edits(
          'infra/services.json',
          times(5, (i) => [svc(i * 20 + 10, 256), svc(i * 20 + 10, 1024)] as const),
        ),
      );
      step(
        sh('jq "[.services[].memory] | add" infra/services.json', '30720'),
        sh('terraform plan', 'Plan: 0 to add, 10 to change, 0 to destroy.'),
      );
    },
    { 'infra/services.json': `{\n  "services": [\n${times(100, (i) => svc(i, 256)).join(',\n')}\n  ]\n}\n` },
  ),

  honest(
    'fills a changelog: eighteen edits with one and the same old text as anchor',
    (w, step) => {
      times(18, (i) => {
        step(
          sh(
            `git show --stat --format=%s HEAD~${i}`,
            `${nth(['fix', 'add', 'speed up'], i)} ${nth(['export', 'search', 'login', 'upload'], i)} (#${410 - i})\n ${i + 1} files changed`,
          ),
        );
        step(
          w.edit(
            'CHANGELOG.md',
            '<!-- next -->\n',
            `<!-- next -->\n- ${nth(['Fixed', 'Added', 'Faster'], i)} ${nth(['export', 'search', 'login', 'upload'], i)} (#${410 - i})\n`,
          ),
        );
      });
      step(w.read('CHANGELOG.md'));
    },
    { 'CHANGELOG.md': '# Changelog\n\n## 4.2.0\n\n<!-- next -->\n' },
  ),

  honest(
    'regenerates an API client by a script after each change of the schema; the generated file is read again each time',
    (w, step) => {
      const gen = (n: number): string =>
        `// Code generated by oapi-codegen. DO NOT EDIT.\n${times(n, (i) => `export const op${i} = (q: Q${i}) => call('op${i}', q);`).join('\n')}\n`;
      times(8, (i) => {
        step(w.edit('openapi.yaml', '# more\n', `  /op${i}:\n    get: { operationId: op${i} }\n# more\n`));
        w.set('gen/client.ts', gen(i + 1));
        step(sh('make generate', 'oapi-codegen -o gen/client.ts openapi.yaml'));
        step(w.read('gen/client.ts'), sh('npx tsc --noEmit'));
      });
    },
    { 'openapi.yaml': 'openapi: 3.1.0\npaths:\n# more\n' },
  ),

  honest('writes the same report file anew five times as its numbers come in', (w, step) => {
    times(5, (i) => {
      const p95 = 412 - i * 61;
      step(sh(`k6 run --quiet load-${i}.js`, `http_req_duration p(95)=${p95}ms`));
      step(
        w.write(
          'report.md',
          `# Load test\n\n| run | p95 |\n|---|---|\n${times(i + 1, (k) => `| ${k} | ${412 - k * 61} ms |`).join('\n')}\n`,
        ),
      );
    });
    step(sh('pandoc report.md -o report.pdf'));
  }),

  honest('writes twelve SQL seed files of the same shape and loads each', (w, step) => {
    for (const [i, l] of LANGS.entries()) {
      step(
        w.write(
          `seeds/${l}.sql`,
          `insert into countries (code, vat) values ('${l}', ${(17 + i * 0.5).toFixed(1)});\n`,
        ),
      );
      step(sh(`psql -q -f seeds/${l}.sql`, ''));
    }
    step(sh('psql -Atc "select count(*) from countries"', '12'));
  }),

  honest(
    'adds similar tests to one file: twelve appended blocks that differ only in a number',
    (w, step) => {
      times(12, (i) => {
        step(
          w.append(
            'roman_test.go',
            `func TestRoman${i + 1}(t *testing.T) {\n\tgot := Roman(${(i + 1) * 7})\n\tif got == "" {\n\t\tt.Fatal("empty")\n\t}\n}\n\n`,
          ),
        );
        if (i % 2 === 1) step(sh('go test ./...', `ok  \troman\t${took(i, 0)}`));
      });
    },
    { 'roman_test.go': 'package roman\n\nimport "testing"\n\n' },
  ),

  honest(
    'works through a thesis: reads a chapter, rewrites its summary, greps for a term, eight chapters long',
    (w, step) => {
      times(8, (i) => {
        step(w.read(`thesis/ch${i + 1}.tex`));
        step(
          w.edit(
            `thesis/ch${i + 1}.tex`,
            '\\todo{summary}',
            `In this chapter we measured ${i * 3 + 4} populations and found drift in ${i + 1} of them.`,
          ),
        );
        step(
          grep('\\\\todo', 'thesis', ...times(7 - i, (k) => `thesis/ch${i + k + 2}.tex:3: \\todo{summary}`)),
        );
      });
      step(sh('latexmk -pdf thesis.tex | tail -1', 'Latexmk: All targets (thesis.pdf) are up-to-date'));
    },
    Object.fromEntries(
      times(8, (i) => [`thesis/ch${i + 1}.tex`, `\\chapter{Part ${i + 1}}\n\n\\todo{summary}\n`]),
    ),
  ),
];
