/** All screens below `/console/p/:project`. */
import { dataScreens } from './data-screens.ts'
import type { Screen } from './screens.ts'
import { supportScreens } from './support-screens.ts'
import { writebackScreens } from './writeback-screens.ts'

export const projectScreens: readonly Screen[] = [...dataScreens, ...supportScreens, ...writebackScreens]
