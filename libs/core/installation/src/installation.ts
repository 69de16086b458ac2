import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** The files and folders that the program reads at run time, by their paths in a checkout. The package has them in `assets/`. */
export const ASSETS = {
  'compose.template.yaml': 'deploy/docker/compose.template.yaml',
  'console-page': 'services/console/src/web',
  'first-flight.json': 'deploy/first-flight.json',
  'fleet-folder/console': 'deploy/console',
  'fleet-folder/grafana/dashboards': 'deploy/grafana/dashboards',
  'fleet-folder/grafana/provisioning': 'deploy/grafana/provisioning',
  'fleet-folder/members.yaml': 'deploy/members.yaml',
  'fleet-folder/profiles': 'deploy/profiles',
  'fleet-folder/prometheus.yml': 'deploy/prometheus/prometheus.yml',
  'fleet-folder/trader': 'deploy/trader',
  'network-relay.cjs': 'libs/agent/loop/src/network/relay.cjs',
  'port-owner.sh': 'deploy/port-owner.sh',
  'prometheus-rules': 'deploy/prometheus/rules',
  seccomp: 'libs/agent/workspace/src/confinement/seccomp',
  subagents: 'libs/agent/loop/src/subagents/builtin',
  vendor: 'node_modules',
  'worker-profile': 'libs/cli/src/join/template',
} as const;
export type Asset = keyof typeof ASSETS;

/** The programs that Node.js runs, by their paths in a checkout. The package has each as one file in `dist/`. */
export const PROGRAMS = {
  fleet: 'libs/cli/src/main.ts',
  profile: 'services/profile/src/main.ts',
  trader: 'services/trader/src/main.ts',
  console: 'services/console/src/main.ts',
  supervisor: 'libs/cli/src/supervise/main.ts',
  backtest: 'services/trader/src/backtest/main.ts',
  'markdown-worker': 'libs/agent/loop/src/tools/web/markdown-worker.ts',
  'mcp-filesystem': 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js',
  'mcp-memory': 'node_modules/@modelcontextprotocol/server-memory/dist/index.js',
} as const;
export type Program = keyof typeof PROGRAMS;

const isPackage = !import.meta.filename.endsWith('.ts');
/** The root of the checkout, or of the package. */
const root = resolve(dirname(import.meta.filename), isPackage ? '..' : '../../../..');

/** The path of a file or folder that the program reads. */
export const asset = (name: Asset): string => join(root, isPackage ? `assets/${name}` : ASSETS[name]);

/** The file of a program. */
export const program = (name: Program): string => join(root, isPackage ? `dist/${name}.js` : PROGRAMS[name]);

/** The folder that the shipped MCP servers load, which confined commands must be able to read. */
export const readByCommands = (): string => join(root, isPackage ? 'dist' : 'node_modules');

/** The folder of the program: the checkout, or the package. */
export const folder = (): string => root;

/** The checkout that the program runs from; undefined for the package. */
export const checkout = (): string | undefined => (isPackage ? undefined : root);

const manifest = (): { version: string; gitHead?: string } =>
  JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** The version of the program. */
export const version = (): string => manifest().version;

/** The commit that the package was built from; undefined for a checkout, which may differ from its commit. */
export const revision = (): string | undefined => manifest().gitHead;
