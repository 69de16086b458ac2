import { packagesFolder, TESTED_PACKAGES } from '@hermes-fleet/installation';
import { command } from '../command-line/command.ts';
import { UsageError } from '../command-line/option-values.ts';
import { printLines } from '../command-line/output.ts';
import { untilStopped } from '../command-line/until-stopped.ts';
import { addUsage } from '../command-specs/fleet.ts';
import { currentFolder } from '../folder/fleet-folder.ts';
import { lockFolder } from '../local/folder-lock.ts';
import { type InstalledPackage, installPackages, readPackages } from '../packages/install-packages.ts';

const SPEC =
  /^(?=.{1,214}$)(?<name>(?:@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*)(?:@(?<release>[a-z0-9][a-z0-9.+-]*))?$/i;

/** `fleet add`: installs optional packages of a fleet, or prints those that it has (docs/cli.md#optional-packages-fleet-add). */
const addCommand = command(addUsage, async ({ positionals, env, show, stderr }) => {
  const { home, dir } = currentFolder(env);
  const folder = packagesFolder(home);
  const specs = positionals.map(specOf);
  if (specs.length > 0) {
    using _lock = lockFolder(dir, 'fleet add');
    await untilStopped(
      async (signal) => await installPackages(specs, { folder, env, signal }),
      () => printLines(stderr, ['fleet: stopped, and nothing was changed']),
    );
  }
  const installed = readPackages(folder);
  const render = ({ name, version, license }: InstalledPackage) => `${name} ${version}, ${license}`;
  show({ folder, packages: installed }, ({ packages }) => [
    packages.length === 0 ? `${folder} has no packages` : `${folder} has:`,
    ...packages.map((each) => `  ${render(each)}`),
    ...(specs.length === 0 ? [] : ['restart the profiles that use what is new']),
  ]);
});

export const commands = [addCommand];

/** A name, with the release to install: the tested one, where none is named. Throws UsageError for anything but names. */
function specOf(argument: string): string {
  const { name, release } = SPEC.exec(argument)?.groups ?? {};
  if (name === undefined)
    throw new UsageError(`"${argument}" is not the name of an npm package, with @ and a version or without`);
  const chosen = release ?? TESTED_PACKAGES[name];
  return chosen === undefined ? name : `${name}@${chosen}`;
}
