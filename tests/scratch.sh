# shellcheck shell=bash disable=SC2154
# Sourced by tests of compare and its sisters, which set $slotmark and $source: a scratch repository of two families with
# a cache of builds of its own, and words for what is expected. The current folder becomes its root.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export SLOTMARK_CACHE=$scratch/cache
export GIT_CONFIG_GLOBAL=$scratch/gitconfig GIT_CONFIG_NOSYSTEM=1
printf '[user]\n\tname = test\n\temail = test@example.invalid\n[init]\n\tdefaultBranch = main\n' >"$GIT_CONFIG_GLOBAL"

fail()
{
    echo "FAIL $*"
    exit 1
}

run() # expected exit code, then the command: its words in $said and $complained
{
    local expected=$1 status=0
    shift
    case $1 in history) ;; *) set -- "$@" --quiet ;; esac
    "$slotmark" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
    said=$(cat "$scratch/out")
    complained=$(cat "$scratch/err")
    [ "$status" = "$expected" ] || fail "slotmark $* exits with $status, not $expected: $said $complained"
}

has() # text pattern
{
    grep -qE -- "$2" <<<"$1" || fail "«$1» does not show «$2»"
}

# Whether this CPU runs the kernel that is slowed down and renamed here.
runs_avx2()
{
    "$slotmark" list >"$scratch/list"
    grep -q avx2 "$scratch/list"
}

commit()
{
    git add -A
    git commit -qm "$1"
    git tag "$1"
}

# Everything of the repository that a command could touch.
state()
{
    git status --porcelain=v2 --branch
    git stash list
    git for-each-ref
    git worktree list
    find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum
    sha256sum .git/index
}

# rmsnorm/avx2 with one call in fifty that does its work twice: 2 % more, really executed.
slow_down()
{
    sed -i 's/sm_rmsnorm_avx2/work/; s/^void work/static void work/' kernels/rmsnorm/avx2.c
    cat >>kernels/rmsnorm/avx2.c <<'END_OF_C'

void sm_rmsnorm_avx2(const void *args, struct sm_part part)
{
    static unsigned calls;
    work(args, part);
    if (++calls % 50 == 0) work(args, part);
}
END_OF_C
}

# rmsnorm/avx2 becomes rmsnorm/wide.
rename_variant()
{
    git mv kernels/rmsnorm/avx2.c kernels/rmsnorm/wide.c
    sed -i 's/sm_rmsnorm_avx2/sm_rmsnorm_wide/' kernels/rmsnorm/wide.c
    sed -i 's/^SM_VARIANT(avx2,/SM_VARIANT(wide,/' kernels/rmsnorm/variants.def
}

mkdir "$scratch/tree"
cd "$scratch/tree" || exit 1
cp -r "$source/CMakeLists.txt" "$source/cmake" "$source/kernels" .
printf 'SM_FAMILY(rmsnorm)\nSM_FAMILY(softcap_f32)\n' >kernels/families.def
git init -q
commit base
