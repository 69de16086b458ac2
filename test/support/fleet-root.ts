import { cpSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SHIPPED_SERVICES } from './shipped.ts';

/** The shipped MCP servers that run as processes of their own, one or more at each profile. */
const SERVERS = ['filesystem', 'memory'] as const;
export type ShippedServer = (typeof SERVERS)[number];

export interface RootOptions {
  /** The members that run. Nobody has the others as peers, nor their MCP servers. */
  readonly members: readonly string[];
  readonly mcpServers: readonly ShippedServer[];
  readonly fleetYaml?: ((profile: string, shipped: string) => string) | undefined;
  readonly configYaml?: ((profile: string, shipped: string) => string) | undefined;
}

/** Nothing is changed and nobody is absent: such a fleet runs from the repository itself. */
export const isShipped = ({ members, mcpServers, fleetYaml, configYaml }: RootOptions): boolean =>
  SHIPPED_SERVICES.every((name) => members.includes(name)) &&
  SERVERS.every((name) => mcpServers.includes(name)) &&
  fleetYaml === undefined &&
  configYaml === undefined;

/** An entry of `agents:` in fleet.yaml or of `servers:` in config.yaml, with the comment before it. */
const entryOf = (name: string): RegExp =>
  new RegExp(`(?:^ {4}#.*\\n)*^ {4}${name}:\\n(?:^ {5,}.*\\n)+`, 'gm');

/** The text of a profile's fleet.yaml or config.yaml without the peers, or MCP servers, of these names. */
const without = (yaml: string, absent: readonly string[]): string =>
  absent
    .reduce((text, name) => text.replace(entryOf(name), ''), yaml)
    .replace(/^mcp:\n {2}servers:\n(?! )/m, '');

/** Makes a folder with the parts of a repository that a member needs, with changed profiles. */
export function writeRoot(
  repository: string,
  root: string,
  { members, mcpServers, fleetYaml, configYaml }: RootOptions,
): string {
  const profiles = join(root, 'deploy/profiles');
  cpSync(join(repository, 'deploy/profiles'), profiles, { recursive: true });
  for (const service of ['deploy/members.yaml', 'deploy/trader', 'deploy/console'])
    cpSync(join(repository, service), join(root, service), { recursive: true });
  symlinkSync(join(repository, 'services'), join(root, 'services'));
  const names = readdirSync(profiles).filter((name) => statSync(join(profiles, name)).isDirectory());
  const absent = ['trader', ...names].filter((name) => !members.includes(name));
  const unwanted = SERVERS.filter((name) => !mcpServers.includes(name));
  for (const name of names) {
    const edit = (file: string, change: (text: string) => string): void => {
      const path = join(profiles, name, file);
      writeFileSync(path, change(readFileSync(path, 'utf8')));
    };
    edit('fleet.yaml', (text) => without(fleetYaml?.(name, text) ?? text, absent));
    edit('config.yaml', (text) => {
      const shipped = without(text, [...absent, ...unwanted]);
      return configYaml?.(name, shipped) ?? shipped;
    });
  }
  return root;
}
