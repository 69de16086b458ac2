import { fallbackConfigs } from '../../config/config.ts';
import { createModelMonitor, type ModelMonitor, type ModelMonitorOptions } from './model-monitor.ts';

/** The monitor of a model with fallbacks: healthy while any of them is. Calls and window are those of the first model. */
export interface ModelMonitors extends ModelMonitor {
  /** The monitor of each of `fallback_models`. */
  readonly others: readonly ModelMonitor[];
}

/** Measures the model of config.yaml and its fallbacks (docs/agent.md#fallback-models). Returns at once. */
export function createModelMonitors(options: ModelMonitorOptions): ModelMonitors {
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
      const watches = all.map((each) => each.onChange(listener));
      return {
        [Symbol.dispose]: () => {
          for (const watch of watches) watch[Symbol.dispose]();
        },
      };
    },
    close() {
      for (const each of all) each.close();
    },
  };
}
