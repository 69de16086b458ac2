import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asset } from '@hermes-fleet/installation';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { OTHER_PORTS } from '../folder/members.ts';
import { type Stopped, stopProcess } from './down.ts';
import { fingerprintOfServer } from './fingerprint.ts';
import { findProgram } from './nats-server.ts';
import { hasDied, runningProcess } from './pid-file.ts';
import { type FleetPlan, type PlannedProcess, PROMETHEUS } from './plan.ts';
import { type ProcessStatus, statusOf } from './ready.ts';
import { ensureCurrent } from './restart.ts';
import type { Outcome } from './start.ts';
import type { ProcessCommand } from './start-process.ts';

const GRACE_MS = 10_000;
/** As in containers (docs/operations.md#folders-and-volumes). */
const RETENTION = { days: 15, size: '1GB' };

/** The Prometheus beside a fleet of plain processes (docs/operations.md#prometheus-of-processes). */
export function planPrometheus(plan: FleetPlan) {
  const port = OTHER_PORTS.prometheus + plan.portOffset;
  const url = `http://127.0.0.1:${port}`;
  const dir = join(plan.dir, PROMETHEUS);
  const logFile = join(plan.dir, 'logs', `${PROMETHEUS}.log`);
  return {
    name: PROMETHEUS,
    port,
    url,
    readyUrl: `${url}/-/ready`,
    logFile,
    dir,
    configFile: join(dir, 'prometheus.json'),
  };
}

/** PROMETHEUS_BIN, else `prometheus` on the PATH. Undefined without one, or if PROMETHEUS_BIN is empty. */
const findPrometheus = (env: NodeJS.ProcessEnv): string | undefined =>
  env.PROMETHEUS_BIN === undefined ? findProgram(PROMETHEUS, env) : env.PROMETHEUS_BIN || undefined;

/** What it scrapes, with the rules of the repository. JSON is YAML. */
function configurationOf(plan: FleetPlan, { port }: PlannedProcess): string {
  const targets = [...plan.members, plan.console].map((member) => ({
    targets: [`127.0.0.1:${member.port}`],
    labels: { profile: member.name },
  }));
  return JSON.stringify(
    {
      global: { scrape_interval: '5s', evaluation_interval: '15s' },
      rule_files: [join(asset('prometheus-rules'), '*.rules.yml')],
      scrape_configs: [
        { job_name: 'fleet', honor_labels: true, static_configs: targets },
        { job_name: PROMETHEUS, static_configs: [{ targets: [`127.0.0.1:${port}`] }] },
      ],
    },
    undefined,
    2,
  );
}

/**
 * Starts Prometheus on loopback beside the fleet, restarts one whose program or folder has changed, or makes a running one read a configuration that has changed. Undefined
 * where its program is not there. The fleet works without it, so a failure is an outcome and throws nothing.
 */
export async function prometheusUp({
  plan,
  env,
  clock,
  withRestarts = true,
}: {
  readonly plan: FleetPlan;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  /** False: one that has changed runs on. */
  readonly withRestarts?: boolean;
}): Promise<Outcome | undefined> {
  const planned = planPrometheus(plan);
  const file = findPrometheus(env);
  const running = runningProcess(plan.runDir, PROMETHEUS);
  if (file === undefined && running === undefined) return undefined;
  mkdirSync(planned.dir, { recursive: true, mode: 0o700 });
  const wanted = configurationOf(plan, planned);
  const isChanged = !existsSync(planned.configFile) || readFileSync(planned.configFile, 'utf8') !== wanted;
  writeFileSync(planned.configFile, wanted, { mode: 0o600 });
  // A running one whose program is no longer found runs on.
  const outcome = await ensureCurrent(
    { plan, clock, withRestarts: withRestarts && file !== undefined },
    planned,
    prometheusCommand(plan, env),
  );
  if (running !== undefined && isChanged && outcome.state === 'already running')
    process.kill(running.pid, 'SIGHUP');
  return outcome;
}

/** How it is started. */
export function prometheusCommand(plan: FleetPlan, env: NodeJS.ProcessEnv): ProcessCommand {
  const planned = planPrometheus(plan);
  const file = findPrometheus(env) ?? PROMETHEUS;
  return {
    file,
    fingerprint: fingerprintOfServer(file, [planned.dir, planned.url]),
    args: [
      `--config.file=${planned.configFile}`,
      `--storage.tsdb.path=${join(planned.dir, 'data')}`,
      `--storage.tsdb.retention.time=${RETENTION.days}d`,
      `--storage.tsdb.retention.size=${RETENTION.size}`,
      `--web.listen-address=127.0.0.1:${planned.port}`,
    ],
    // It needs nothing of the environment, which may hold keys.
    env: { PATH: env.PATH, HOME: planned.dir },
    cwd: planned.dir,
  };
}

/** Stops the Prometheus that `up` started; undefined when there is none. */
export async function prometheusDown(plan: FleetPlan, clock: Clock): Promise<Stopped | undefined> {
  const stopped = await stopProcess(plan.runDir, PROMETHEUS, GRACE_MS, clock);
  return stopped.state === 'was not running' ? undefined : stopped;
}

/** The state of the Prometheus that `up` started; undefined when there is none. */
export async function prometheusStatus(plan: FleetPlan): Promise<ProcessStatus | undefined> {
  if (runningProcess(plan.runDir, PROMETHEUS) === undefined && !hasDied(plan.runDir, PROMETHEUS))
    return undefined;
  return statusOf(plan, planPrometheus(plan));
}
