import { playTopic } from './play.ts';

playTopic('call-ids');
