import type { Section } from '../frame/section.ts';
import { abortsSection, contextsSection, loopSection } from './agent.ts';
import { backtestSection } from './backtest.ts';
import { consoleSection } from './console.ts';
import { dispatchSection } from './dispatch.ts';
import { burstsSection, routedSection, servicesSection, startsSection } from './fleet.ts';
import { routingSection, schedulingSection } from './peers.ts';
import { startSection } from './start.ts';
import { ledgerSection, listsSection, outboxSection, traderSection } from './stores.ts';
import { tracesSection } from './traces.ts';
import { transportsSection } from './transports.ts';
import { youngGenerationSection } from './young-generation.ts';

/** Every section, in the order in which they run; `services` leaves the fleet stopped. */
export const SECTIONS: readonly Section[] = [
  dispatchSection,
  tracesSection,
  traderSection,
  transportsSection,
  backtestSection,
  ledgerSection,
  listsSection,
  outboxSection,
  routingSection,
  schedulingSection,
  loopSection,
  abortsSection,
  contextsSection,
  startSection,
  startsSection,
  routedSection,
  burstsSection,
  servicesSection,
  youngGenerationSection,
  consoleSection,
];
