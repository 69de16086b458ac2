/** Files that another file starts or reads by paths that it composes. A folder stands for every file below it but tests. */
export interface Composed {
  readonly reached: readonly string[];
  readonly because: string;
  /** These are reached instead of the paths that the file names. */
  readonly instead?: true;
}

const MEMBERS = ['profile', 'trader', 'console'].map((name) => `services/${name}/src/main.ts`);
const SHIPPED = ['deploy/profiles/', 'deploy/trader/', 'deploy/console/'];
const IMAGE = [
  ...['.dockerignore', '.npmrc', 'deploy/docker/', 'deploy/package/', 'deploy/first-flight.json'],
  ...['libs/cli/src/main.ts', ...MEMBERS],
];
const PAGES = ['services/console/src/web/index.html', 'services/console/src/web/assets/'];

/** By the file that composes the paths. */
export const COMPOSED: Readonly<Record<string, Composed>> = {
  'test/support/fleet.ts': {
    reached: [...MEMBERS, ...SHIPPED],
    because: 'a fleet of processes starts every member, with the shipped configuration',
  },
  'test/support/compose.ts': {
    reached: [
      ...['docker-compose.yml', '.env', ...IMAGE, ...SHIPPED, 'deploy/prometheus/'],
      ...['deploy/grafana/dashboards/', 'deploy/grafana/provisioning/', 'test/support/containers/'],
    ],
    because: 'a fleet in containers runs the image and the Compose file, and scripts beside it',
  },
  'test/support/profile-container.ts': {
    reached: ['docker-compose.yml', '.env', ...IMAGE],
    because: 'a profile by itself runs the image with the limits of the Compose file',
  },
  'deploy/docker/compose.test.ts': {
    reached: ['docker-compose.yml', '.env'],
    because: 'docker compose reads both, and is told neither',
  },
  'test/support/swarm.ts': {
    reached: ['deploy/swarm/', 'deploy/prometheus/', ...IMAGE, ...SHIPPED],
    because: 'a fleet on Swarm runs the image',
  },
  Makefile: { reached: ['fleet'], because: 'the targets that use a fleet are its commands' },
  'test/compose/make-up.slow.test.ts': {
    reached: ['Makefile'],
    because: 'make runs in a copy of the whole repository',
  },
  'test/fleet/tutorial.slow.test.ts': {
    reached: ['Makefile', 'examples/'],
    because: 'the commands of the tutorial name them',
  },
  'test/fleet/examples.slow.test.ts': { reached: ['examples/'], because: 'every example runs' },
  'libs/cli/src/commands/card.slow.test.ts': {
    reached: ['deploy/profiles/'],
    because: 'every shipped profile shows its card',
  },
  'services/console/src/web/static-files.ts': {
    reached: [],
    instead: true,
    because: 'of those that start the console, only some look at its pages',
  },
  ...Object.fromEntries(
    ['testing/web/browser.ts', 'testing/web/stub-console.ts', 'src/web/served.slow.test.ts'].map((file) => [
      `services/console/${file}`,
      { reached: PAGES, because: 'looks at the pages of the console' },
    ]),
  ),
  'test/eval/main.ts': { reached: ['test/eval/briefs/'], because: 'every brief is loaded' },
  'test/bench/http/server.ts': { reached: ['test/bench/servers/'], because: 'a server has a name' },
  'libs/agent/loop/src/subagents/load-definitions.ts': {
    reached: ['libs/agent/loop/src/subagents/builtin/'],
    because: 'every definition is loaded',
  },
};
