import { join, relative } from 'node:path';
import { confirm, isCancel } from '@clack/prompts';
import { version } from '@hermes-fleet/installation';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { command, type Values } from '../command-line/command.ts';
import { checkedModel } from '../command-line/model-options.ts';
import { oneArgument, UsageError, wholeNumber } from '../command-line/option-values.ts';
import { printLines } from '../command-line/output.ts';
import { profileAddUsage, profileRemoveUsage } from '../command-specs/folder.ts';
import { addProfile, freePort, removeProfile } from '../folder/change-members.ts';
import { currentFolder } from '../folder/fleet-folder.ts';
import { readMembers } from '../folder/members.ts';
import type { ModelChoice } from '../folder/profile-files.ts';
import { keyPaths } from '../keys/layout.ts';
import { readSecret } from '../keys/secret-file.ts';
import { stopProcess } from '../local/down.ts';
import { lockFolder } from '../local/folder-lock.ts';
import { reloadNats } from '../local/nats-server.ts';
import { type FleetPlan, planFleet } from '../local/plan.ts';
import { recordedOffset } from '../local/port-offset.ts';
import { makeProcessKeys } from '../local/process-keys.ts';
import { checkVersion, versionFile } from '../upgrade/state-version.ts';

const STOP_MS = 25_000;
const TIERS = ['haiku', 'sonnet', 'opus'];

const addCommand = command(profileAddUsage, async ({ values, positionals, stdout }) => {
  const name = oneArgument(positionals, 'profile add takes the name of one profile');
  if (values.tier !== undefined && !TIERS.includes(values.tier))
    throw new UsageError(`--tier must be ${TIERS.join(', ')}, not "${values.tier}"`);
  const folder = currentFolder();
  using _lock = lockFolder(folder.dir, 'fleet profile add');
  checkVersion(versionFile(join(folder.dir, 'keys')), version());
  const port = wholeNumber('port', values.port, undefined) ?? freePort(readMembers(folder.home));
  const { tier, purpose, like } = values;
  const profile = { member: { name, port }, tier, purpose, model: modelIn(values) };
  const changed = addProfile(folder, profile, like);
  await addKeys(planFleet({ root: folder.root, portOffset: recordedOffset(folder.dir) ?? 0 }));
  printLines(stdout, [
    `${name} is a member, on port ${port}:`,
    ...changed.map((path) => `  ${relative(folder.root, path)}`),
    'fleet up starts it, and applies it to the others',
  ]);
  return 0;
});

const removeCommand = command(profileRemoveUsage, async ({ values, positionals, stdin, stdout, stderr }) => {
  const name = oneArgument(positionals, 'profile remove takes the name of one profile');
  const folder = currentFolder();
  if (!values.yes) {
    if (stdin().isTTY !== true || stderr.isTTY !== true)
      throw new UsageError(`nobody can be asked here: add --yes to remove ${name}`);
    const message = `Take ${name} out of this fleet? Its state stays.`;
    const answer = await confirm({ message, input: stdin(), output: stderr, initialValue: false });
    if (isCancel(answer) || !answer) {
      stderr.write('nothing was changed\n');
      return 1;
    }
  }
  using _lock = lockFolder(folder.dir, 'fleet profile remove');
  checkVersion(versionFile(join(folder.dir, 'keys')), version());
  const { changed, moved } = removeProfile(folder, name);
  const { state } = await stopProcess(join(folder.dir, 'run'), name, STOP_MS, systemClock);
  const at = (path: string): string => relative(folder.root, path);
  printLines(stdout, [
    `${name} is no member any more${state === 'was not running' ? '' : `, and was ${state}`}:`,
    ...changed.map((path) => `  ${at(path)}`),
    `its configuration is in ${at(moved)}`,
    `its state is in ${at(join(folder.dir, 'state', name))} and ${at(join(folder.dir, 'workspaces', name))}; in containers, in the volumes state-${name} and workspace-${name}`,
    'fleet up applies it to the others',
  ]);
  return 0;
});

/**
 * Makes the missing keys of a fleet of processes that has some, because a member that restarts reads those of the new one. A fleet
 * without keys gets all of them from `fleet up`.
 */
async function addKeys(plan: FleetPlan): Promise<void> {
  const { natsConfig } = keyPaths(plan.keysDir);
  const before = readSecret(natsConfig);
  if (before === undefined) return;
  makeProcessKeys(plan, before.includes('sync_interval: always'));
  await reloadNats(plan, systemClock);
}

/** The model that the options name; undefined for that of the profile whose files are taken. Throws UsageError. */
function modelIn(values: Values<typeof profileAddUsage.options>): ModelChoice | undefined {
  const { model, 'base-url': baseUrl, 'key-env': keyEnv } = values;
  if (model === undefined && (baseUrl !== undefined || keyEnv !== undefined))
    throw new UsageError('--base-url and --key-env need --model');
  return model === undefined ? undefined : checkedModel({ model, baseUrl, keyEnv });
}

export const commands = [addCommand, removeCommand];
