import {
  createRecorder,
  createRegistry,
  type Families,
  type Family,
  MEMBER_FAMILIES,
} from '@hermes-fleet/service';
import { CONSOLE_FAMILIES } from '../../../services/console/src/metric-families.ts';
import { TRADER_FAMILIES } from '../../../services/trader/src/control/metric-families.ts';

/** Every family that a profile, the trader or the console exports. */
export const FAMILIES: Families = { ...MEMBER_FAMILIES, ...TRADER_FAMILIES, ...CONSOLE_FAMILIES };

const SETS: Readonly<Record<string, readonly string[]>> = {
  profile: ['neo'],
  peers: ['switch'],
  hops: ['neo', 'switch'],
  callers: ['switch'],
  tiers: ['haiku'],
  concerns: ['acct:xrpusd'],
  strategies: ['Grid'],
  breakers: ['drawdown'],
};

/** Metrics of these families; `record` changes every series. */
function exporter(families: Families) {
  const registry = createRegistry();
  const recorder = createRecorder<Families>(registry, families, SETS);
  let n = 1;
  for (const [name, family] of Object.entries(families)) {
    const value = () => (isCounter(name) ? n : 1);
    const all = seriesOf(family);
    const reader = () => (family.labels ? all.map((labels) => [labels, value()]) : value());
    if (family.read) Reflect.apply(recorder.read, undefined, [{ [name]: reader }]);
  }
  const record = (): void => {
    n += 1;
    for (const [name, family] of Object.entries(families)) {
      if (family.read) continue;
      const { add, observe, set } = recorder;
      const write = isCounter(name) ? add : family.buckets ? observe : set;
      for (const labels of seriesOf(family)) Reflect.apply(write, undefined, [name, labels, 1]);
    }
  };
  return { registry, record };
}

const isCounter = (name: string): boolean => name.endsWith('_total');

/** The series of a family; `x` stands for the values of a label without known ones. */
function seriesOf({ labels = {}, starts }: Family): readonly Readonly<Record<string, string>>[] {
  let series: Record<string, string>[] = [{}];
  for (const [name, label] of Object.entries(labels)) {
    const { from = '', and = [] } = 'length' in label ? { and: label } : label;
    const known = [...(SETS[from] ?? []), ...and];
    const values = known.length > 0 ? known : ['x'];
    series = series.flatMap((each) => values.map((value) => ({ ...each, [name]: value })));
  }
  return starts ?? series;
}

export const profileMetrics = () => exporter(MEMBER_FAMILIES);
export const traderMetrics = () => exporter({ ...MEMBER_FAMILIES, ...TRADER_FAMILIES });
export const consoleMetrics = () => exporter(CONSOLE_FAMILIES);
