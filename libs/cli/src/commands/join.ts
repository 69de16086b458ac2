import { join, resolve } from 'node:path';
import { version } from '@hermes-fleet/installation';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';
import { command } from '../command-line/command.ts';
import { durationMs, oneArgument, UsageError } from '../command-line/option-values.ts';
import { printLines } from '../command-line/output.ts';
import { joinUsage, leaveUsage } from '../command-specs/workers.ts';
import { findWorker, workerOfJoin } from '../join/find-worker.ts';
import {
  awaitSeen,
  enlist,
  examineBothWays,
  gatewayOf,
  type JoinOptions,
  joined,
  membershipOf,
} from '../join/join-worker.ts';
import { leaveFleet } from '../join/leave-worker.ts';
import { orchestratorUrl, planWorker } from '../join/plan-worker.ts';
import { runGateway } from '../join/run-gateway.ts';
import { clientCertificate, servedCertificate, useCertificatesOf } from '../join/worker-certificates.ts';
import { readWorkerState, type WorkerState, workerHome } from '../join/worker-home.ts';
import { tokenHash } from '../keys/init.ts';
import { readSecret } from '../keys/secret-file.ts';
import { lockFolder } from '../local/folder-lock.ts';
import { checkVersion, recordVersion } from '../upgrade/state-version.ts';

const joinCommand = command(joinUsage, async ({ values, positionals, env, stderr, show }) => {
  const address = oneArgument(positionals, 'join needs the address of one orchestrator');
  const allowHttp = values['allow-http'] === true;
  const url = orchestratorUrl(address, allowHttp);
  const say = (line: string): void => printLines(stderr, [line]);
  const options: JoinOptions = { env, clock, say };
  const token = joinToken(values['token-file'], env);
  const known = workerOfJoin({ ...values, url, joinToken: token && tokenHash(token) });
  using changing = new DisposableStack();
  const take = (worker: string): void => {
    changing.use(lockFolder(worker, 'fleet join'));
    checkVersion(join(worker, 'version'), version());
  };
  if (known) {
    take(known.folder);
    useCertificatesOf(known.state, env);
  }
  const member = known && (await membershipOf(workerHome(known.folder, known.state), known.state));
  if (known?.state.phase === 'joined' && !member) throw notMember(known.state);
  let state: WorkerState;
  let folder: string;
  if (known && member) {
    ({ folder } = known);
    if (member.state !== 'joined')
      throw new FleetError(
        'CAPACITY',
        `${known.state.name} is leaving: run fleet leave to its end, then join again`,
      );
    state = joined(workerHome(folder, known.state), known.state);
    say(`${state.name} has joined ${state.orchestrator.name} already`);
  } else {
    if (token === undefined)
      throw new UsageError(
        'join needs --token-file: fleet join-token create, at the orchestrator, makes a join token',
      );
    const planned = await planWorker(url, token, {
      ...values,
      name: values.name ?? known?.state.name,
      workspaceDir: values['workspace-dir'] ?? env.HERMES_WORKSPACE_DIR,
      allowHttp,
      tls: clientCertificate(env),
      serverTls: servedCertificate(values['cert-file'], values['key-file']),
    });
    ({ folder } = planned);
    if (known === undefined || resolve(folder) !== resolve(known.folder)) take(folder);
    const there = readWorkerState(folder);
    if (there && (there.name !== planned.state.name || there.orchestrator.url !== url))
      throw new FleetError(
        'CONFIG_INVALID',
        `${folder} is the folder of ${there.name}, a worker of ${there.orchestrator.url}: name another one with --dir`,
      );
    if (there?.phase === 'joined')
      throw new FleetError(
        'CONFIG_INVALID',
        `${there.name} has joined already: name another worker with --name, or run fleet leave first`,
      );
    state = await enlist(planned, token, { ...options, profileDir: values['profile-dir'] });
  }
  const home = workerHome(folder, state);
  recordVersion(join(folder, 'version'), version());
  const gateway = await runGateway(home, gatewayOf(home, state, options), {
    foreground: values.foreground === true,
    clock,
  });
  changing.dispose();
  const findings = await awaitSeen(home, state, clock)
    .then(() => examineBothWays(home, state, options))
    .catch(async (error: unknown) => {
      await gateway.stop();
      throw error;
    });
  const failed = findings.filter((finding) => finding.state === 'failed');
  for (const { by, subject, check, detail } of failed) say(`${by}: ${subject} ${check}: ${detail}`);
  const summary = {
    name: state.name,
    orchestrator: state.orchestrator.url,
    endpoint: state.endpoint,
    gateway: gateway.state,
    pid: gateway.pid,
    dir: home.dir,
    log_file: gateway.exit ? null : home.gateway.logFile,
    checks: findings.length,
    failed: failed.length,
  };
  show({ ...summary, findings }, () => [
    `${state.name} is a worker of ${state.orchestrator.name}: live at ${state.endpoint}`,
    `checks    ${findings.length} in both directions, ${failed.length} failed`,
    ...(gateway.exit ? [] : [`log       ${home.gateway.logFile}`]),
    `folder    ${home.dir}`,
    `to leave  fleet leave ${values.dir === undefined ? state.name : `--dir ${home.dir}`}`,
  ]);
  if (gateway.exit) return gateway.exit;
  return failed.length > 0 ? 1 : 0;
});

const notMember = ({ name, orchestrator }: WorkerState): FleetError =>
  new FleetError(
    'UNAUTHENTICATED',
    `${name} is no member at ${orchestrator.name} any more: it was revoked; run fleet leave, then join again`,
  );

function joinToken(file: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  if (file === undefined) return env.FLEET_JOIN_TOKEN?.trim() || undefined;
  const token = readSecret(file);
  if (!token) throw new UsageError(`--token-file: ${file} does not exist, or is empty`);
  return token;
}

const leaveCommand = command(leaveUsage, async ({ values, positionals, env, stderr, show }) => {
  const [name] =
    positionals.length === 0 ? [] : [oneArgument(positionals, 'leave takes the name of one worker')];
  const { home, state } = findWorker(values.dir, name);
  useCertificatesOf(state, env);
  const say = (line: string): void => printLines(stderr, [line]);
  const gateway = gatewayOf(home, state, { env, clock, say });
  const left = await leaveFleet(home, state, {
    clock,
    say,
    lock: () => lockFolder(home.dir, 'fleet leave'),
    startGateway: () => runGateway(home, gateway, { foreground: false, clock }),
    waitMs: durationMs('wait', values.wait, 15 * 60_000),
    now: values.now === true,
  });
  const kept = { ledger: home.stateDir, workspace: state.workspaceDir, profile: home.profileDir };
  show({ name: state.name, gateway: left.gateway, given_up: left.givenUp, kept }, () => [
    `${state.name} has left ${state.orchestrator.name}; its gateway ${left.gateway}, and its keys are removed`,
    ...(left.givenUp > 0 ? [`given up  ${left.givenUp} tasks, which ended as peer_unreachable`] : []),
    `kept      ${kept.ledger}, ${kept.workspace} and ${kept.profile}`,
  ]);
});

/** `fleet join` and `fleet leave`: a worker on another machine (docs/peering.md#joining). */
export const commands = [joinCommand, leaveCommand];
