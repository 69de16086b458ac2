export { type AdmissionInputs, admit } from './admission/checks.ts';
export { createDestinations } from './admission/destinations.ts';
export { ownTask } from './intake/accept-answer.ts';
export { acceptMessage } from './intake/accept-message.ts';
export { createQuestionWaits } from './running/ask-caller.ts';
export { recordFields } from './running/lineage.ts';
export { blockedOutcome, errorOutcome } from './running/task-result.ts';
export { callAt } from './running/timers.ts';
export { createDispatcher, type Dispatcher } from './scheduling/dispatcher.ts';
export { judge } from './scheduling/judge.ts';
export { Lane } from './scheduling/lane.ts';
export { createScheduler, type Scheduler, type Ticket } from './scheduling/scheduler.ts';
export { createSharedAcceptances } from './scheduling/shared-acceptances.ts';
export { createTaskQueue, type TaskQueue, type TaskQueueOptions } from './scheduling/task-queue.ts';
export type { Needs, Outlook } from './scheduling/turn.ts';
export { leftOf } from './spending/ceilings.ts';
export {
  createSpending,
  readSpending,
  type Spending,
  type SpendingOptions,
  type SpendingView,
} from './spending/spending.ts';
