import { testStoreCrashes } from '../../testing/store/crash-sweep.ts';

testStoreCrashes(1);
