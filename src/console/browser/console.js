/** The console works without any of this. Scripts add live numbers and keys; they write text and attributes only. */
import { startKeys } from './keys.js'
import { startLive } from './live.js'
import { startPicks } from './picks.js'

startKeys()
startPicks()
const { liveProject } = document.body.dataset
if (liveProject !== undefined) startLive(liveProject)
