import { testWorkerCrashes } from './crash-sweep.ts';

testWorkerCrashes('one');
