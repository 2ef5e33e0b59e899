# Reads `objdump -d --no-show-raw-insn` of variants' objects. For each innermost loop that works on whole vectors, a line:
#
#   OBJECT FUNCTION BEGIN INSTRUCTIONS CARRIED STORES LOADS SCALAR
#
# STORES and LOADS are vector accesses to fixed places of the stack frame (indexed ones are arrays that somebody meant);
# CARRIED counts the places that the loop both stores and loads: an accumulator there waits for memory on every turn.
# SCALAR counts the accesses of pointers and counters. Loops are natural loops of the flow graph, wherever their blocks lie.

function hex(text,   i, value)
{
    value = 0
    for (i = 1; i <= length(text); i++) value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
    return value
}

function on_stack(text)
{
    if (text ~ /^(lea|push|pop|call|ret|nop)/) return 0
    return text ~ /\(%rsp\)/ || (framed && text ~ /\(%rbp\)/)
}

# Blocks, and the edges between them.
function find_blocks(   i, b)
{
    blocks = edges = 0
    delete leads
    delete block_at
    leads[0] = 1
    for (i = 0; i < count; i++)
        if (code[i] ~ /^(j|ret|notrack jmp|ud2)/) {
            leads[i + 1] = 1
            if (target[i] in at) leads[at[target[i]]] = 1
        }
    for (i = 0; i < count; i++) {
        if (i in leads) first[blocks++] = i
        block_at[i] = blocks - 1
    }
    first[blocks] = count
    for (b = 0; b < blocks; b++) {
        i = first[b + 1] - 1
        out[b, 0] = out[b, 1] = -1
        if (code[i] !~ /^(jmp|ret|notrack jmp|ud2)/ && b + 1 < blocks) out[b, 0] = b + 1
        if (target[i] in at) out[b, 1] = block_at[at[target[i]]]
    }
    delete into
    for (b = 0; b < blocks; b++)
        for (i = 0; i < 2; i++)
            if (out[b, i] >= 0) into[out[b, i]] = into[out[b, i]] " " b
}

# Depth first from each block that is not reached yet; an edge to a block that is still open goes back to a loop's head.
function find_heads(   root, top, b, e)
{
    backs = 0
    delete state
    for (root = 0; root < blocks; root++) {
        if (root in state) continue
        top = 0
        stack[top] = root
        turn[top] = 0
        state[root] = 1
        while (top >= 0) {
            b = stack[top]
            e = turn[top]++
            if (e == 2) {
                state[b] = 2
                top--
            } else if ((e = out[b, e]) >= 0) {
                if (!(e in state)) {
                    state[e] = 1
                    stack[++top] = e
                    turn[top] = 0
                } else if (state[e] == 1) {
                    back_from[backs] = b
                    back_to[backs++] = e
                }
            }
        }
    }
}

# Marks the blocks from which a loop's end is reached without passing its head.
function mark_loop(loop, head, from,   top, b, n, i, before)
{
    inside[loop, head] = 1
    top = 0
    stack[top++] = from
    while (top > 0) {
        b = stack[--top]
        if ((loop, b) in inside) continue
        inside[loop, b] = 1
        n = split(into[b], before, " ")
        for (i = 1; i <= n; i++) stack[top++] = before[i]
    }
}

function report(loop,   b, i, text, place, instructions, vectors, stores, loads, scalar, carried)
{
    instructions = vectors = stores = loads = scalar = carried = 0
    delete stored
    delete loaded
    for (b = 0; b < blocks; b++) {
        if (!((loop, b) in inside)) continue
        for (i = first[b]; i < first[b + 1]; i++) {
            text = code[i]
            instructions++
            if (text ~ /%[yz]mm/) vectors++
            if (!on_stack(text)) continue
            match(text, /[-0-9a-fx]*\(%r[sb]p\)/)
            place = substr(text, RSTART, RLENGTH)
            if (text !~ /%[xyz]mm/) {
                scalar++
            } else if (text ~ /\)$/) {
                stores++
                stored[place] = 1
            } else {
                loads++
                loaded[place] = 1
            }
        }
    }
    for (place in stored) if (place in loaded) carried++
    if (vectors) printf "%s %s %x %d %d %d %d %d\n", object, name, addr[first[loop]], instructions, carried, stores, loads, scalar
}

function end_function(   k, h, inner)
{
    if (count) {
        find_blocks()
        find_heads()
        delete inside
        delete heads
        for (k = 0; k < backs; k++) {
            mark_loop(back_to[k], back_to[k], back_from[k])
            heads[back_to[k]] = 1
        }
        for (k in heads) {
            inner = 1
            for (h in heads) if (h != k && ((k, h) in inside)) inner = 0
            if (inner) report(k)
        }
    }
    count = framed = 0
    delete at
}

/file format/ {
    end_function()
    object = $1
    sub(/:$/, "", object)
    next
}
/^[0-9a-f]+ <.*>:$/ {
    end_function()
    name = $2
    gsub(/[<>:]/, "", name)
    next
}
/^ +[0-9a-f]+:\t/ {
    place = $1
    sub(/:/, "", place)
    addr[count] = hex(place)
    at[addr[count]] = count
    line = $0
    sub(/^[^\t]*\t/, "", line)
    sub(/[ \t]+#.*$/, "", line)
    sub(/[ \t]+$/, "", line)
    code[count] = line
    target[count] = "none"
    if (line ~ /^j[a-z]+ +[0-9a-f]+ </) {
        split(line, words, " +")
        target[count] = hex(words[2])
    }
    # A frame is set up at a function's start; further in, %rbp is a register like others.
    if (count < 16 && line ~ /^mov +%rsp,%rbp/) framed = 1
    count++
}
END { end_function() }
