export type { AdmissionInputs } from './admission/check.ts';
export { admit } from './admission/checks.ts';
export { createDestinations } from './admission/destinations.ts';
export { acceptMessage } from './intake/accept-message.ts';
export { createQuestionWaits } from './running/question-waits.ts';
export { recordFields } from './running/record-fields.ts';
export { errorOutcome } from './running/task-result.ts';
export { callAt } from './running/timers.ts';
export { createDispatcher } from './scheduling/dispatcher.ts';
export { judge } from './scheduling/judge.ts';
export { Lane } from './scheduling/lane.ts';
export { Scheduler } from './scheduling/scheduler.ts';
export { createSharedAcceptances } from './scheduling/shared-acceptances.ts';
export { createTaskQueue, type TaskQueue, type TaskQueueOptions } from './scheduling/task-queue.ts';
export type { Needs, Outlook, Ticket } from './scheduling/ticket.ts';
export { leftOf } from './spending/ceilings.ts';
export {
  createSpending,
  readSpending,
  type Spending,
  type SpendingOptions,
  type SpendingView,
} from './spending/spending.ts';
