import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FleetError, systemCode } from '@hermes-fleet/protocol';
import { TRADER } from '../keys/layout.ts';
import { composeFile, type Place, renderCompose } from './compose.ts';
import type { FleetFolder } from './fleet-folder.ts';
import {
  addPeers,
  addToConsole,
  addToPrometheus,
  removeFromConsole,
  removeFromPrometheus,
  removePeer,
  withPorts,
} from './member-entries.ts';
import { type Members, servicesOf } from './members.ts';
import type { YamlFile } from './yaml-text.ts';

/** A checkout has its configuration in a folder of its own. */
export const placeOf = ({ root, home }: FleetFolder): Place => (root === home ? 'folder' : 'checkout');

/** The file of a service with its peers. */
const fleetYamlOf = (home: string, name: string): string =>
  join(home, name === TRADER ? TRADER : `profiles/${name}`, 'fleet.yaml');

/**
 * The files that follow from the list of members, as they must be: each fleet.yaml, console.yaml, prometheus.yml and the file for
 * Compose. `removed` are members that were on the list. In files of the user only the entries of members change
 * (docs/install.md#the-members). `read` has the text of a file. Throws CONFIG_INVALID for a file that cannot be edited.
 */
export function followingFiles(
  folder: FleetFolder,
  members: Members,
  {
    removed = [],
    read = readText,
  }: { readonly removed?: readonly string[]; readonly read?: (path: string) => string } = {},
): readonly YamlFile[] {
  const { root, home } = folder;
  const edited = (
    path: string,
    remove: (file: YamlFile, name: string) => YamlFile,
    add: (file: YamlFile) => YamlFile,
  ): YamlFile => withPorts(add(removed.reduce(remove, { path, text: read(path) })), members);
  const compose = join(root, composeFile(placeOf(folder)));
  return [
    ...servicesOf(members).map((name) =>
      edited(fleetYamlOf(home, name), removePeer, (file) => addPeers(file, name, members)),
    ),
    edited(join(home, 'console/console.yaml'), removeFromConsole, (file) => addToConsole(file, members)),
    edited(join(home, 'prometheus/prometheus.yml'), removeFromPrometheus, (file) =>
      addToPrometheus(file, members),
    ),
    { path: compose, text: renderCompose(members, placeOf(folder)) },
  ];
}

/** The text of a file of the configuration. Throws CONFIG_INVALID. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const reason = `cannot be read (${systemCode(cause)}), and the list of members says what it has`;
    throw new FleetError('CONFIG_INVALID', `${path} ${reason}`, { cause, fields: [{ path, reason }] });
  }
}
