package drainprobe

// addNodeChange is the change that Decide looks for.
const addNodeChange = "add one node of this size"

func (w *World) unblock(j *judgement) []Fix { return []Fix{} }

func (j *judgement) hints() []Hint { return []Hint{} }
