import { testWorkerCrashes } from './crash-sweep.ts';

testWorkerCrashes(5);
