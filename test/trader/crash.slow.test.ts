import { testTraderCrashes } from './crash-sweep.ts';

testTraderCrashes(4);
