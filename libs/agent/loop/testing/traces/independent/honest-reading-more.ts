import type { Trace } from '../trace.ts';
import { fetchUrl, find, grep, honest, sh, times, took } from './build.ts';

const DOCS = [
  'README',
  'install',
  'quickstart',
  'config',
  'auth',
  'webhooks',
  'pagination',
  'errors',
  'limits',
  'sdk-python',
  'sdk-node',
  'cli',
  'faq',
  'changelog',
  'security',
  'migrate-v2',
  'glossary',
  'support',
];
const docText = (d: string): string =>
  `# ${d}\n\nCall \`client.${d.replace('-', '_')}()\` with your api key.\nThe limit is 100 requests per minut.\n\nSee also [faq](faq.md).\n`;
export const readingMore: Trace[] = [
  honest(
    'reviews 18 pages of documentation, correcting the same typo where it stands',
    (w, step) => {
      step(find('manual/*.md', ...DOCS.map((d) => `manual/${d}.md`)));
      for (const d of DOCS) {
        step(w.read(`manual/${d}.md`));
        step(w.edit(`manual/${d}.md`, 'requests per minut.', 'requests per minute.'));
      }
      step(sh('npx markdownlint docs', ''), sh('npx lychee docs', '96 Total, 96 OK'));
    },
    Object.fromEntries(DOCS.map((d) => [`manual/${d}.md`, docText(d)])),
  ),

  honest('looks through a production log with twenty variants of one shell pipeline', (_w, step) => {
    const filters = [
      'ERROR',
      'WARN',
      'timeout',
      'OOM',
      'GC pause',
      '" 500 ',
      '" 502 ',
      '" 504 ',
      'upstream',
      'reset by peer',
      'pool exhausted',
      'deadlock',
      'retry',
      'circuit',
      'order-77120',
      'tenant=42',
      'tenant=43',
      'tenant=44',
      'slow query',
      'lock wait',
    ];
    filters.forEach((f, i) =>
      step(
        sh(
          `zgrep -c '${f}' /var/log/app/2026-11-2*.gz`,
          times(3, (d) => `/var/log/app/2026-11-2${d}.gz:${i % 4 === 0 ? 0 : i * 11 + d}`).join('\n'),
          i % 4 === 0 ? 1 : 0,
        ),
      ),
    );
    step(
      sh(
        "zgrep 'pool exhausted' /var/log/app/2026-11-22.gz | cut -c1-16 | uniq -c",
        '  118 2026-11-22 03:14',
      ),
    );
  }),

  honest('fetches 22 pages of a paged API one after the other and saves them', (_w, step) => {
    times(22, (i) =>
      step(
        fetchUrl(
          `https://api.openalex.org/works?filter=topic:T10017&per-page=25&page=${i + 1}`,
          200,
          JSON.stringify({
            meta: { count: 538, page: i + 1 },
            results: times(3, (k) => ({ id: `W${(i * 25 + k) * 7919}`, cited_by_count: (i * 31 + k) % 97 })),
          }),
        ),
      ),
    );
    step(sh('python merge.py pages/ works.csv', 'wrote 538 rows'));
  }),

  honest(
    'walks a paged API with a cursor in the POST body through curl; the command differs only in the cursor',
    (_w, step) => {
      times(18, (i) =>
        step(
          sh(
            `curl -s https://shop.example/graphql -d '{"query":"{orders(first:50,after:\\"${(i * 50).toString(36)}\\"){nodes{id}}}"}' | jq '.data.orders.nodes | length'`,
            i < 17 ? '50' : '31',
          ),
        ),
      );
      step(sh('wc -l orders.ndjson', '881 orders.ndjson'));
    },
  ),

  honest(
    'checks the same URL after each of eight fixes to a page template',
    (w, step) => {
      const url = 'http://localhost:4000/pricing';
      step(fetchUrl(url, 500, 'TemplateError: undefined variable plan_0'));
      times(8, (i) => {
        step(w.edit('templates/pricing.html', `{{ plan_${i} }}`, `{{ plans[${i}].title }}`));
        step(
          fetchUrl(
            url,
            i < 7 ? 500 : 200,
            i < 3
              ? `TemplateError: undefined variable plan_${i + 1}`
              : i < 7
                ? 'Internal Server Error'
                : '<h1>Pricing</h1>',
          ),
        );
      });
      step(sh('npx html-validate http://localhost:4000/pricing', ''));
    },
    { 'templates/pricing.html': times(8, (i) => `<td>{{ plan_${i} }}</td>`).join('\n') },
  ),

  honest(
    'answers a question about the code: reads a file, greps, reads the same file again later, and explains',
    (w, step) => {
      step(grep('retryAfter', 'src', 'src/http.ts:3: const retryAfter = 30;'), w.read('src/http.ts'));
      step(w.read('src/queue.ts'));
      step(w.read('src/http.ts'), grep('retryAfter', 'src', 'src/http.ts:3: const retryAfter = 30;'));
      step(
        sh('git log -S retryAfter --oneline', '0be1140 wait as told by the server'),
        w.read('src/http.ts'),
      );
      step(sh('git show 0be1140 --stat', ` src/http.ts | 4 ++--\n took ${took(1)}`));
    },
    {
      'src/http.ts': "import { queue } from './queue';\n\nconst retryAfter = 30;\n",
      'src/queue.ts': 'export const queue: Job[] = [];\n',
    },
  ),
];
