import { testDispatchCrashes } from '../testing/crash-sweep.ts';

testDispatchCrashes(1);
