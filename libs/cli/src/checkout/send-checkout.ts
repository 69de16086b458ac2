import { openAsBlob } from 'node:fs';
import { join } from 'node:path';
import type { Read } from '@hermes-fleet/net/api';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { BUNDLE_TYPE, REPOSITORIES, TakenBundle, uploadUrl } from '@hermes-fleet/protocol/api';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { fleetApi, type Target } from '../client/api.ts';
import { failure } from '../git/git.ts';
import { inScratch } from '../git/scratch.ts';
import { buildOn, type Part, usable } from './build-on.ts';
import { commitChanges, keepCommit } from './commit-changes.ts';
import { type ConfiguredRemote, configuredRemote } from './configured-remote.ts';
import { leftOut } from './left-out.ts';
import type { Checkout } from './open-checkout.ts';
import { writeBundle } from './write-bundle.ts';

export interface SendingCheckout {
  readonly checkout: Checkout;
  readonly includesChanges: boolean;
  readonly to: Receiver;
  readonly on: WorksOn;
  /** Tells the user. */
  readonly say: (line: string) => void;
}

/** The configured repository that a task on a checkout names, if any, and the remote that is this. */
export interface WorksOn {
  readonly name: string | undefined;
  readonly remote: ConfiguredRemote | undefined;
}

/** A profile that takes checkouts, and what it has. */
export interface Receiver {
  readonly target: Target;
  readonly repositories: Offer['repositories'];
  /** What the context of the task works on already. */
  readonly context: Offer['context'];
  readonly bundles: NonNullable<Offer['bundles']>;
}

type Offer = Read<typeof REPOSITORIES.list.answer>;

const UPLOAD_MS = 3_600_000;
/** A user waits so long without being told for what. */
const MOMENT_MS = 1_000;

/** Asks a profile what it has, for a task of a context that may have begun. Throws as the client, and PEER_REFUSED for one that takes no checkouts. */
export async function receiverAt(target: Target, contextId: string | undefined): Promise<Receiver> {
  const query = contextId === undefined ? undefined : { context: contextId };
  const { bundles, ...offer } = await fleetApi().call(target, REPOSITORIES.list, { query });
  if (bundles !== undefined)
    return { target, bundles, repositories: offer.repositories, context: offer.context };
  throw new FleetError('PEER_REFUSED', `${target.name} takes no checkouts: --profile names another one`);
}

/**
 * What a task on a checkout works on. A context goes on with what it began with, whatever the remotes are now. `isWhole`: no remote counts;
 * throws INVALID_PARAMS where the context works on a configured repository.
 */
export async function worksOn(
  { git }: Checkout,
  { context, repositories }: Receiver,
  isWhole: boolean,
): Promise<WorksOn> {
  if (isWhole && typeof context?.name === 'string')
    throw failure(`the context works on the repository "${context.name}": leave out --whole, or --context`);
  const offered = repositories.filter(({ name }) => !isWhole && (context ?? { name }).name === name);
  const remote = await configuredRemote(git, offered);
  return { name: context ? (context.name ?? undefined) : remote?.repository.name, remote };
}

/**
 * Sends what a profile lacks of the last commit of a checkout, or of one with its changes, and resolves with `task.repository` for
 * it. Says which files are not sent. Throws as `Git` and the client, INVALID_PARAMS for more bytes than the profile takes, and
 * BUNDLE_REFUSED.
 */
export async function sendCheckout(sending: SendingCheckout): Promise<JsonObject> {
  const { checkout, includesChanges, to, say } = sending;
  const { name, remote } = sending.on;
  const { git, head } = checkout;
  return inScratch(async (folder) => {
    const commit = includesChanges ? await commitChanges(checkout, folder) : head;
    for (const line of await leftOut(checkout, commit)) say(line);
    const sent = await usable(git, to.bundles.sent, remote);
    const known = sent.find((each) => each.commit === commit)?.bundle;
    const bundle = known ?? (await upload(sending, folder, commit, sent, remote));
    if (commit !== head) await keepCommit(checkout, commit);
    return { ...(name !== undefined && { name }), bundle, base: commit };
  });
}

/** Builds on what was sent before; where that is gone, sends all. */
async function upload(
  sending: SendingCheckout,
  folder: string,
  commit: string,
  sent: readonly { readonly commit: string }[],
  remote: ConfiguredRemote | undefined,
): Promise<string> {
  const { git } = sending.checkout;
  const send = async (on: readonly { readonly commit: string }[]): Promise<string> => {
    const commits = on.map((each) => each.commit);
    return uploadPart(sending, folder, await buildOn(git, commit, commits, remote), remote);
  };
  try {
    return await send(sent);
  } catch (error) {
    if (!(error instanceof FleetError && error.code === 'BUNDLE_LACKS_COMMITS')) throw error;
    return send([]);
  }
}

async function uploadPart(
  { checkout: { git, name }, to: { target, bundles }, say }: SendingCheckout,
  folder: string,
  part: Part,
  remote: ConfiguredRemote | undefined,
): Promise<string> {
  const telling = (what: string) => systemClock.timer(() => say(what), MOMENT_MS);
  const file = join(folder, 'bundle');
  const tooLarge = () =>
    new FleetError(
      'INVALID_PARAMS',
      `the commits of ${name} have more than ${mib(bundles.max_bytes)}, which is the most that ${target.name} takes: configure its remote in repositories.yaml, so that only new commits are sent (docs/configuration.md#repositories)`,
    );
  const written = async () => {
    using _ = telling(`packing the commits of ${name}`);
    return writeBundle(git, file, part, { maxBytes: bundles.max_bytes, tooLarge });
  };
  const { sha256, bytes } = await written();
  const repository = part.prerequisites.length > 0 ? remote?.repository.name : undefined;
  using _ = telling(`sending ${mib(bytes)} of ${name}`);
  const content = await openAsBlob(file, { type: BUNDLE_TYPE });
  const path = uploadUrl({ sha256, commit: part.commit, repository });
  const options = { timeoutMs: UPLOAD_MS, signal: git.signal };
  await fleetApi()
    .upload(target, path, content, TakenBundle, options)
    .catch((error: unknown) => {
      if (!(error instanceof FleetError && error.code === 'PEER_UNREACHABLE')) throw error;
      const message = `the commits of ${name} did not arrive, and no task was sent: ${error.message}`;
      throw new FleetError('PEER_UNREACHABLE', message, { cause: error });
    });
  return sha256;
}

const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
