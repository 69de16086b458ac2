import { backoffMs } from '@hermes-fleet/protocol';
import type { Clock, Log, MeasuredModel, ModelWatch } from '@hermes-fleet/protocol/ports';
import { type AgentConfig, fallbackConfigs } from '../../config/config-yaml.ts';
import { createModelWindow, type ModelWindow } from '../../config/model-window.ts';
import type { ModelCallEnd, ModelCalls } from '../call/model-calls.ts';
import { learnWindow } from './ask-window.ts';
import {
  answered,
  isServerError,
  type ProbedModel,
  probeModel,
  refusesCalls,
  unreachable,
} from './probe-model.ts';

export interface ModelMonitor extends ModelWatch {
  readonly calls: ModelCalls;
  /** The model's window, for which the provider is asked after a successful probe. */
  readonly window: ModelWindow;
  close(): void;
}

interface ModelMonitorOptions {
  readonly config: AgentConfig;
  /** Finds what a probe asks; undefined where there is nothing to ask, see `ExecutorProvider`. */
  readonly probed: (config: AgentConfig) => ProbedModel | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** 0 to 1, for jitter; default: Math.random. */
  readonly random?: () => number;
}

/** Measures the model's health by probes, in the background, and by the ends of calls (docs/agent.md#model-health). */
export function createModelMonitor(options: ModelMonitorOptions): ModelMonitor {
  const { config, log } = options;
  const probed = options.probed(config);
  const window = createModelWindow(config, log);
  return probed ? new Monitor(options, probed, window) : { ...ALWAYS_HEALTHY, window };
}

const ALWAYS_HEALTHY: Omit<ModelMonitor, 'window'> = {
  health: () => NOTHING_TO_PROBE,
  probe: async () => NOTHING_TO_PROBE,
  onChange: () => ({ [Symbol.dispose]: () => undefined }),
  calls: { begin: () => ({ [Symbol.dispose]: () => undefined }), ended: () => undefined },
  close: () => undefined,
};
const NOTHING_TO_PROBE: MeasuredModel = { state: 'ok', detail: 'has no provider' };

const FIRST_RETRY_MS = 500;
/** After a call that the provider refused, probes prove nothing for so long, ms; doubled each time. */
const HOLD = { firstMs: 5_000, longestMs: 120_000 };

class Monitor implements ModelMonitor {
  readonly window: ModelWindow;
  readonly #options: ModelMonitorOptions;
  readonly #probed: ProbedModel;
  readonly #listeners = new Set<() => void>();
  readonly #closing = new AbortController();
  #health: MeasuredModel = { state: 'error', detail: 'was not probed yet' };
  #measuredAt = Number.NEGATIVE_INFINITY;
  #measurement: Promise<void> | undefined;
  #timer: Disposable | undefined;
  /** Probes in a row that failed, and that succeeded while the model is not healthy. */
  #failures = 0;
  #successes = 0;
  #callsInFlight = 0;
  #refusals = 0;
  #heldUntil = Number.NEGATIVE_INFINITY;
  /** Counts the verdicts of calls: one outdates a probe that began before it. */
  #verdicts = 0;

  constructor(options: ModelMonitorOptions, probed: ProbedModel, window: ModelWindow) {
    this.#options = options;
    this.#probed = probed;
    this.window = window;
    void this.#measure();
  }

  get #timeoutMs(): number {
    return this.#options.config.model_probe.timeout_s * 1000;
  }

  health(): MeasuredModel {
    return this.#health;
  }

  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  async probe({ maxAgeMs, timeoutMs }: Parameters<ModelWatch['probe']>[0]): Promise<MeasuredModel> {
    const { clock } = this.#options;
    const since = clock.monotonic();
    // Without any evidence, the first probe may take its whole time: after a start, honest tasks come at once.
    const isFirst = this.#measuredAt === Number.NEGATIVE_INFINITY;
    const limitMs = isFirst ? Math.max(timeoutMs, this.#timeoutMs) : timeoutMs;
    const isOver = Promise.withResolvers<void>();
    using _limit = clock.timer(isOver.resolve, limitMs);
    const isOpen = (): boolean =>
      clock.monotonic() - since < limitMs &&
      !this.#closing.signal.aborted &&
      this.#isUnclear(since - maxAgeMs);
    while (isOpen()) await Promise.race([this.#measure(), isOver.promise]);
    return this.#health;
  }

  readonly calls: ModelCalls = {
    begin: () => {
      this.#callsInFlight += 1;
      return {
        [Symbol.dispose]: () => {
          this.#callsInFlight -= 1;
        },
      };
    },
    ended: (end) => {
      if (!this.#closing.signal.aborted) this.#judgeCall(end);
    },
  };

  close(): void {
    this.#closing.abort(new Error('the profile is stopping'));
    this.#timer?.[Symbol.dispose]();
    this.#listeners.clear();
  }

  /** True without evidence since `sinceMs`, or after a failure that does not decide. */
  #isUnclear(sinceMs: number): boolean {
    if (this.#measuredAt < sinceMs) return this.#heldUntil <= this.#options.clock.monotonic();
    // One failed call does not decide while the model can be asked.
    const mayBeWell = this.#health.state === 'ok' || this.#failures === 1;
    return this.#failures > 0 && mayBeWell && this.#heldUntil <= this.#options.clock.monotonic();
  }

  /** Never rejects. Concurrent calls share one measurement. */
  #measure(): Promise<void> {
    this.#measurement ??= this.#takeMeasurement().finally(() => {
      this.#measurement = undefined;
      this.#schedule();
    });
    return this.#measurement;
  }

  async #takeMeasurement(): Promise<void> {
    const verdicts = this.#verdicts;
    const timeoutMs = this.#timeoutMs;
    const found = await probeModel(this.#probed, timeoutMs, this.#closing.signal).catch(() => undefined);
    // Before the judgment, so that an announce of a healthy model has its window.
    const isNew = found?.state === 'ok' && (await this.#learnWindow());
    if (isNew && this.#health.state === 'ok') this.#notify();
    if (!found || verdicts !== this.#verdicts) return;
    // A server that works on a call of ours may be too busy to answer.
    if (found.state === 'timeout' && this.#callsInFlight > 0) return;
    this.#judgeProbe(found);
  }

  #learnWindow(): Promise<boolean> {
    return learnWindow(this.#probed, this.window, this.#timeoutMs, this.#closing.signal);
  }

  #judgeProbe(found: MeasuredModel): void {
    const { down_after: downAfter, up_after: upAfter } = this.#options.config.model_probe;
    const isFirst = this.#measuredAt === Number.NEGATIVE_INFINITY;
    const isHealthy = this.#health.state === 'ok';
    const now = this.#options.clock.monotonic();
    this.#measuredAt = now;
    if (found.state !== 'ok') {
      this.window.reopen();
      this.#successes = 0;
      this.#failures += 1;
      if (isFirst || !isHealthy || this.#failures >= downAfter) this.#record(found, isFirst);
      return;
    }
    this.#failures = 0;
    if (!isHealthy && now < this.#heldUntil) return;
    this.#successes = isHealthy ? 0 : this.#successes + 1;
    if (isFirst || isHealthy || this.#successes >= upAfter) this.#record(found, isFirst);
  }

  #judgeCall(end: ModelCallEnd): void {
    const { clock } = this.#options;
    if (end.kind === 'answered') {
      this.#verdicts += 1;
      this.#measuredAt = clock.monotonic();
      this.#failures = 0;
      this.#refusals = 0;
      this.#heldUntil = Number.NEGATIVE_INFINITY;
      this.#record({ state: 'ok', detail: 'answered a call' }, false);
      return;
    }
    if (end.kind === 'refused' && !refusesCalls(end.status) && !isServerError(end.status)) return;
    if (end.kind === 'broken') {
      void this.#measure();
      return;
    }
    this.#verdicts += 1;
    this.#measuredAt = clock.monotonic();
    this.#successes = 0;
    this.#failures += 1;
    if (end.kind === 'refused') this.#hold();
    this.#record(
      end.kind === 'refused' ? answered(end.status) : unreachable(this.#probed, ' for a call'),
      false,
    );
    this.#schedule();
  }

  /** Attempts of one call, and calls that fail together, begin one hold. */
  #hold(): void {
    const now = this.#options.clock.monotonic();
    if (now < this.#heldUntil) return;
    this.#refusals += 1;
    this.#heldUntil = now + backoffMs(this.#refusals, { ...HOLD, random: this.#random });
  }

  readonly #random = (): number => (this.#options.random ?? Math.random)();

  #schedule(): void {
    this.#timer?.[Symbol.dispose]();
    if (this.#closing.signal.aborted) return;
    const { clock, config } = this.#options;
    const intervalMs = config.model_probe.interval_s * 1000;
    const retry = {
      firstMs: Math.min(FIRST_RETRY_MS, intervalMs),
      longestMs: intervalMs,
      random: this.#random,
    };
    const isTroubled = this.#failures > 0 || this.#health.state !== 'ok';
    const delay = isTroubled
      ? backoffMs(Math.max(1, this.#failures), retry)
      : intervalMs * (0.9 + 0.1 * this.#random());
    const untilHold = this.#heldUntil - clock.monotonic();
    this.#timer = clock.timer(() => void this.#measure(), Math.max(delay, untilHold, 0));
  }

  #record(found: MeasuredModel, isFirst: boolean): void {
    const before = this.#health;
    this.#health = found;
    if (before.state === found.state && !isFirst) return;
    const { log, config } = this.#options;
    const { state, detail } = found;
    if (state === 'ok') log.info({ model: config.model, detail }, 'model is healthy');
    else log.warn({ model: config.model, state, detail }, 'model is not healthy');
    if (before.state === state) return;
    this.#successes = 0;
    this.#notify();
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener();
      } catch (error) {
        this.#options.log.error({ err: error }, "a listener of the model's health failed");
      }
    }
  }
}

/**
 * Measures the model of config.yaml and its fallbacks (docs/agent.md#fallback-models), which `others` are: healthy while any
 * of them is. Calls and window are those of the first model. Returns at once.
 */
export function createModelMonitors(
  options: ModelMonitorOptions,
): ModelMonitor & { readonly others: readonly ModelMonitor[] } {
  const first = createModelMonitor(options);
  const others = fallbackConfigs(options.config).map((config) => createModelMonitor({ ...options, config }));
  const all = [first, ...others];
  return {
    calls: first.calls,
    window: first.window,
    others,
    health: () => all.map((each) => each.health()).find(({ state }) => state === 'ok') ?? first.health(),
    async probe(limits) {
      const found = await Promise.all(all.map((each) => each.probe(limits)));
      return found.find(({ state }) => state === 'ok') ?? first.health();
    },
    onChange(listener) {
      const watches = new DisposableStack();
      for (const each of all) watches.use(each.onChange(listener));
      return watches;
    },
    close() {
      for (const each of all) each.close();
    },
  };
}
